// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "scan/scan_op.h"
#include "scan/scan_plan.h"

namespace masu {
namespace {

class ScanNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(ScanNvrtc);

TEST_P(ScanNvrtc, EveryKind) {
  struct Case {
    Dtype dtype;
    ScanOp op;
    bool segmented;
  };
  for (const Case& one :
       {Case{Dtype::i64, ScanOp::sum, false}, Case{Dtype::u32, ScanOp::sum, false}, Case{Dtype::u8, ScanOp::sum, false},
        Case{Dtype::f16, ScanOp::max, false}, Case{Dtype::u32, ScanOp::min, true}, Case{Dtype::f64, ScanOp::min, true},
        Case{Dtype::f16, ScanOp::sum, true}, Case{Dtype::f32, ScanOp::sum, false}, Case{Dtype::f64, ScanOp::sum, false},
        Case{Dtype::f64, ScanOp::sum, true}}) {
    if (GetParam() != 90 && one.dtype != Dtype::i64) continue;  // the others differ by nothing an architecture knows
    const auto plan =
        scan_plan::make(test::nvrtc_gpu(), one.dtype, std::uint64_t{1} << 28, one.op, one.segmented, one.segmented);
    if (plan.exact) {
      expect_compiles(plan.files(), plan.defines(), {"exact_chunks", "exact_totals", "exact_tiles"});
    } else if (plan.once) {
      expect_compiles(plan.files(), plan.defines(), {"scan_once"});
    } else {
      expect_compiles(plan.files(), plan.defines(), {"scan_chunks", "scan_tiles"});
    }
  }
}

}  // namespace
}  // namespace masu

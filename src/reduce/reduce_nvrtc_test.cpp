// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "reduce/reduce_plan.h"

namespace masu {
namespace {

class ReduceNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(ReduceNvrtc);

TEST_P(ReduceNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::i8, Dtype::f16, Dtype::f32, Dtype::i64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::minmax}) {
      const bool skip = op == ReduceOp::max;
      const auto plan = reduce_plan::make(test::nvrtc_gpu(), dtype, op, skip, 1, std::uint64_t{1} << 28);
      expect_compiles(plan.files(), plan.defines(), {"extreme_tiles", "extreme_rows", "clear_arrived"});
    }
    const auto plan = reduce_plan::make(test::nvrtc_gpu(), dtype, ReduceOp::count_nonzero, false, 1, 1 << 20);
    expect_compiles(plan.files(), plan.defines(), {"count_tiles", "count_rows", "clear_arrived"});
  }
}

}  // namespace
}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "gather/gather_plan.h"

namespace masu {
namespace {

class GatherNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(GatherNvrtc);

TEST_P(GatherNvrtc, EveryKernel) {
  for (const std::size_t bytes : {3, 4, 16}) {
    if (GetParam() != 90 && bytes != 4) continue;  // the others differ by nothing an architecture knows
    const auto plan = gather_plan::make(test::nvrtc_gpu(), bytes, 0);
    expect_compiles(
        gather_plan::move_files, plan.move_defines(bytes == 3 ? Dtype::u64 : Dtype::u32),
        {"check_indices", "gather_records", "claim_places", "scatter_records", "reverse_records", "first_note"});
    expect_compiles(gather_plan::compact_files, plan.compact_defines(),
                    {"compact_count", "compact_offsets", "compact_move"});
  }
  for (const Dtype dtype : {Dtype::u8, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    if (GetParam() != 90 && dtype != Dtype::f16) continue;
    expect_compiles(gather_plan::iota_files, gather_plan::make(test::nvrtc_gpu(), 1, 0).iota_defines(dtype),
                    {"write_iota"});
  }
}

}  // namespace
}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "unique/unique_plan.h"

namespace masu {
namespace {

class UniqueNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(UniqueNvrtc);

TEST_P(UniqueNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::f16, Dtype::u32, Dtype::f32, Dtype::u64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    const auto plan = unique_plan::make(test::nvrtc_gpu(), dtype, std::uint64_t{1} << 28);
    expect_compiles(unique_plan::files, plan.defines(dtype, 4),
                    {"unique_flags", "unique_emit", "unique_inverse", "unique_iota"});
  }
}

}  // namespace
}  // namespace masu

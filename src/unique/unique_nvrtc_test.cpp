// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "backends/cuda/compiler.h"
#include "runtime/kernel_source.h"
#include "runtime/program_cache.h"
#include "unique/unique_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace masu {
namespace {

DeviceInfo gpu() {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.gpu = true;
  info.compute_units = 132;
  info.max_work_group_size = 1024;
  return info;
}

class UniqueNvrtc : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!cuda::nvrtc().usable()) GTEST_SKIP() << "NVRTC is not here: " << cuda::nvrtc().why;
  }
};
INSTANTIATE_TEST_SUITE_P(Architectures, UniqueNvrtc, ::testing::Values(75, 80, 90));

TEST_P(UniqueNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::f16, Dtype::u32, Dtype::f32, Dtype::u64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    const auto plan = unique_plan::make(gpu(), dtype, std::uint64_t{1} << 28);
    const std::string text = runtime::own_program_text(runtime::kernel_text("src/backends/cuda/prelude.cuh"),
                                                       unique_plan::file, plan.defines(dtype, 4));
    const cuda::Compiled compiled =
        cuda::compile(cuda::nvrtc(), GetParam(), text, "--std=c++17 --fmad=false -default-device");
    EXPECT_EQ(compiled.log, "");
    EXPECT_THAT(cuda::entry_names(compiled.image),
                ::testing::UnorderedElementsAre("unique_flags", "unique_emit", "unique_inverse", "unique_iota"))
        << to_string(dtype);
  }
}

}  // namespace
}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// The kernel compiles as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "backends/cuda/compiler.h"
#include "runtime/kernel_source.h"
#include "runtime/program_cache.h"
#include "search/search_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace masu {
namespace {

DeviceInfo gpu() {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.gpu = true;
  info.local_bytes = 232448;
  info.compute_units = 132;
  info.max_work_group_size = 1024;
  return info;
}

class SearchNvrtc : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!cuda::nvrtc().usable()) GTEST_SKIP() << "NVRTC is not here: " << cuda::nvrtc().why;
  }
};
INSTANTIATE_TEST_SUITE_P(Architectures, SearchNvrtc, ::testing::Values(75, 80, 90));

TEST_P(SearchNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::i8, Dtype::u16, Dtype::f16, Dtype::u32, Dtype::f32, Dtype::i64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    const auto plan = search_plan::make(gpu(), dtype, std::uint64_t{1} << 28, 1 << 20);
    for (const Side side : {Side::left, Side::right}) {
      const std::string text =
          runtime::own_program_text(runtime::kernel_text("src/backends/cuda/prelude.cuh"), search_plan::file,
                                    plan.defines(dtype, side == Side::left ? Dtype::u32 : Dtype::u64, side));
      const cuda::Compiled compiled =
          cuda::compile(cuda::nvrtc(), GetParam(), text, "--std=c++17 --fmad=false -default-device");
      EXPECT_EQ(compiled.log, "");
      EXPECT_THAT(cuda::entry_names(compiled.image), ::testing::ElementsAre("search_sorted")) << to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace masu

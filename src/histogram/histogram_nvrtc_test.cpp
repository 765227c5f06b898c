// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU.
#include "backends/cuda/compiler.h"
#include "histogram/histogram_plan.h"
#include "runtime/kernel_source.h"
#include "runtime/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace masu {
namespace {

using histogram_plan::Binning;
using histogram_plan::KernelKind;

constexpr const char* options = "--std=c++17 --fmad=false -default-device";

void expect_compiles(const histogram_plan::Plan& plan, Dtype dtype, unsigned channels, int architecture) {
  const std::string text = runtime::own_program_text(runtime::kernel_text("src/backends/cuda/prelude.cuh"),
                                                     "src/histogram/histogram.cl", plan.defines(dtype, channels));
  const cuda::Compiled compiled = cuda::compile(cuda::nvrtc(), architecture, text, options);
  EXPECT_EQ(compiled.log, "");
  EXPECT_THAT(cuda::entry_names(compiled.image), ::testing::ElementsAre(std::string(plan.kernel_name())))
      << to_string(dtype) << " sm_" << architecture;
}

TEST(HistogramNvrtc, EveryKernelTypeAndBinning) {
  if (!cuda::nvrtc().usable()) GTEST_SKIP() << "NVRTC is not here: " << cuda::nvrtc().why;
  for (const int architecture : {75, 80, 90}) {
    histogram_plan::Plan plan;
    plan.group = 1024;
    plan.copies = 32;
    plan.private_slots = 256;
    for (const KernelKind kernel :
         {KernelKind::local, KernelKind::global, KernelKind::private_, KernelKind::sequential, KernelKind::range}) {
      plan.kernel = kernel;
      expect_compiles(plan, Dtype::u8, 1, architecture);
    }
    plan.kernel = KernelKind::local;
    expect_compiles(plan, Dtype::u8, 3, architecture);
    for (const Dtype dtype :
         {Dtype::u16, Dtype::i16, Dtype::u32, Dtype::i32, Dtype::u64, Dtype::i64, Dtype::f32, Dtype::f64}) {
      if (architecture != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
      for (const Binning binning : {Binning::integers, Binning::even, Binning::edges}) {
        if (is_float(dtype) && binning == Binning::integers) continue;
        plan.binning = binning;
        expect_compiles(plan, dtype, binning == Binning::edges ? 4 : 1, architecture);
      }
    }
  }
}

}  // namespace
}  // namespace masu

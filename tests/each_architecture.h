// SPDX-License-Identifier: Apache-2.0
// Whether masu's kernels have all macros that they test, and compile as CUDA C++ for each architecture that it
// supports, without a GPU and without a warning; without NVRTC, only the first.
#pragma once

#include "backends/cuda/module.h"
#include "kernel_macros.h"
#include "runtime/kernel_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <masu/device.h>

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::test {

// What an H200 says of itself to CUDA, but for its architecture.
inline DeviceInfo nvrtc_gpu(int architecture = 75) {
  DeviceInfo info;
  info.architecture = "sm_" + std::to_string(architecture);
  info.id = "cuda:0";
  info.kind = DeviceKind::cuda;
  info.gpu = true;
  info.local_bytes = 232448;
  info.compute_units = 132;
  info.max_work_group_size = 1024;
  return info;
}

// The parameter is the architecture, as 90 for 9.0.
class EachArchitecture : public ::testing::TestWithParam<int> {
 protected:
  static void expect_compiles(std::span<const std::string_view> files, const std::vector<runtime::Define>& defines,
                              const std::vector<std::string>& names) {
    const std::string text =
        runtime::own_program_text(runtime::kernel_text("src/backends/cuda/prelude.cuh"), files, defines);
    const MacroCheck macros(text);
    std::string given;
    for (const runtime::Define& define : defines)
      given.append(1, ' ').append(define.name()).append(1, '=').append(define.value());
    EXPECT_THAT(macros.undefined(), ::testing::IsEmpty()) << given;
    EXPECT_TRUE(macros.whole()) << given;
    if (!cuda::nvrtc().usable()) return;
    const cuda::Compiled compiled =
        cuda::compile(cuda::nvrtc(), GetParam(), text, "--std=c++17 --fmad=false -default-device");
    EXPECT_EQ(compiled.log, "") << given;
    EXPECT_THAT(cuda::entry_names(compiled.image), ::testing::UnorderedElementsAreArray(names)) << given;
  }
};

// The oldest and the newest that masu supports; with MASU_TEST_LONG those between too.
inline std::vector<int> architectures() {
  return std::getenv("MASU_TEST_LONG") != nullptr ? std::vector{75, 80, 90} : std::vector{75, 90};
}

}  // namespace masu::test

#define MASU_ON_EACH_ARCHITECTURE(suite) INSTANTIATE_TEST_SUITE_P(Architectures, suite, ::testing::Values(75, 80, 90))

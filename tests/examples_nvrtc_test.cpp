// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of the examples compile for each architecture that masu supports, without a GPU.
#include "backends/cuda/module.h"
#include "each_architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace masu {
namespace {

struct Source {
  std::string name;
  std::string options;
  std::vector<std::string> kernels;
};

const std::vector<std::string> of_atomics = {"in_local", "in_global", "floats_in_local", "floats_in_global"};
const std::vector<Source> sources = {
    {"shared_memory_histogram", "", {"shared_memory_histogram"}},
    {"dot_product", "-DSUM=float", {"dot_atomic", "dot_items", "dot_groups"}},
    {"dot_product", "-DSUM=double", {"dot_atomic", "dot_items", "dot_groups"}},
    {"memory_fence", "", {"sum_by_last_group", "pass_messages"}},
    {"atomics", "-DNUMBER=int", of_atomics},
    {"atomics", "-DNUMBER=uint", of_atomics},
    {"atomics", "-DNUMBER=ulong", of_atomics},
};

class ExamplesNvrtc : public ::testing::TestWithParam<int> {};
MASU_ON_EACH_ARCHITECTURE(ExamplesNvrtc);

TEST_P(ExamplesNvrtc, EveryKernel) {
  if (!cuda::nvrtc().usable()) GTEST_SKIP() << "NVRTC is not here: " << cuda::nvrtc().why;
  for (const Source& source : sources) {
    std::ifstream file(MASU_SOURCE_DIR "/examples/" + source.name + ".cu");
    std::ostringstream text;
    text << file.rdbuf();
    ASSERT_FALSE(text.str().empty()) << source.name;
    const cuda::Compiled compiled = cuda::compile(cuda::nvrtc(), GetParam(), text.str(), source.options);
    EXPECT_EQ(compiled.log, "") << source.name << ' ' << source.options;
    EXPECT_THAT(cuda::entry_names(compiled.image), ::testing::UnorderedElementsAreArray(source.kernels))
        << source.name << ' ' << source.options;
  }
}

}  // namespace
}  // namespace masu

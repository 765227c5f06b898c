// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.h"

#include <gtest/gtest.h>
#include <masu/device.h>

#include "runtime/backend.h"
#include "scoped_env.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace masu::runtime {
namespace {

constexpr const char* directories[] = {"MASU_KERNEL_DIR", "MASU_CUDA_LIBRARY", "MASU_NVRTC", "CUDA_HOME",
                                       "XDG_CACHE_HOME"};

// The variables are read once, so this needs a process.
TEST(EnvironmentTest, IsReadOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const test::ScopedEnv caching("MASU_CACHE", nullptr);
  const test::ScopedEnv sync("MASU_SYNC", "1");
  std::vector<std::unique_ptr<test::ScopedEnv>> first;
  for (const char* name : directories) first.push_back(std::make_unique<test::ScopedEnv>(name, "/first"));
  const auto once = [] {
    EXPECT_GE(cpu_threads(), 1U);
    for (const char* name : directories) ::setenv(name, "/second", 1);
    ::setenv("MASU_SYNC", "0", 1);
    const Environment& all = environment();
    EXPECT_EQ(all.kernel_directory, "/first");
    EXPECT_EQ(all.cuda_library, "/first");
    EXPECT_EQ(all.nvrtc, "/first");
    EXPECT_EQ(all.toolkits.at(0), "/first");
    EXPECT_EQ(all.cache_directory, "/first/masu");
    EXPECT_TRUE(waits_for_launches());
    std::_Exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(once(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace masu::runtime

// SPDX-License-Identifier: Apache-2.0
// Packages of kernels: what was written is read, and whatever is wrong is a miss.
#include "runtime/packaged_kernels.h"

#include "expect_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <masu/version.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::runtime {
namespace {

std::string key_of(int number) {
  return std::string(63, 'a') + static_cast<char>('0' + number);
}

class PackagedKernelsTest : public ::testing::Test {
 protected:
  PackagedKernelsTest() {
    for (const int number : {3, 1, 2, 0}) {  // in no order of their keys
      kernels.emplace_back(key_of(number), std::string(1000 * number, 'x') + std::to_string(number));
    }
    whole = made_of(kernels, 1 << 20).first;
  }
  using Kernels = std::vector<std::pair<std::string, std::string>>;
  // The file, and how many of them it holds.
  static std::pair<std::string, std::size_t> made_of(const Kernels& kernels, std::uint64_t most_bytes) {
    PackageMaker maker("sm_90", most_bytes);
    bool all = true;
    for (const auto& [key, content] : kernels) all = maker.add(key, content) && all;
    EXPECT_EQ(maker.full(), !all);
    return {maker.file(), maker.count()};
  }
  // How many of the kernels are found as they were given; what is found otherwise is a failure.
  [[nodiscard]] std::size_t hits(std::string_view package) const {
    std::size_t found = 0;
    for (const auto& [key, content] : kernels) {
      const std::optional<std::string> got = find_in_package(package, key);
      if (!got) continue;
      EXPECT_EQ(*got, content);
      ++found;
    }
    for (const std::string& key : {key_of(9), std::string(64, '0'), std::string()}) {
      EXPECT_EQ(find_in_package(package, key), std::nullopt);
    }
    return found;
  }

  Kernels kernels;
  std::string whole;
};

TEST_F(PackagedKernelsTest, WhatIsGivenIsFound) {
  EXPECT_EQ(made_of(kernels, 1 << 20).second, 4U);
  EXPECT_EQ(hits(whole), 4U);
  const auto [none, count] = made_of({}, 1 << 20);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(hits(none), 0U);
}

TEST_F(PackagedKernelsTest, APackageHasTheFirstKernelsThatFit) {
  EXPECT_EQ(made_of(kernels, whole.size()).second, 4U);
  const auto [package, count] = made_of(kernels, whole.size() - 1);
  EXPECT_EQ(count, 3U);
  EXPECT_LT(package.size(), whole.size());
  EXPECT_EQ(hits(package), 3U);
  EXPECT_EQ(find_in_package(package, kernels.back().first), std::nullopt);
  EXPECT_EQ(made_of(kernels, 0).second, 0U);
}

TEST_F(PackagedKernelsTest, TruncatedPackagesMiss) {
  std::size_t most = 0;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::size_t found = hits(std::string_view(whole).substr(0, bytes));
    EXPECT_GE(found, most);  // never fewer in a longer one
    EXPECT_LT(found, 4U);
    most = found;
  }
  EXPECT_EQ(most, 3U);
}

TEST_F(PackagedKernelsTest, ChangedBytesMiss) {
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flipped : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flipped);
      EXPECT_TRUE(!fault_of(changed, "sm_90").empty() || hits(changed) < 4) << at;
    }
  }
}

TEST_F(PackagedKernelsTest, WhatIsNoPackageHasNoKernels) {
  EXPECT_EQ(hits(""), 0U);
  EXPECT_EQ(hits("masu-kernels-2\n" + whole.substr(whole.find('\n') + 1)), 0U);
  EXPECT_EQ(hits(whole.substr(0, whole.find('\n') + 1) + std::string(8, '\xff') + std::string(1000, '\xff')), 0U);
}

TEST_F(PackagedKernelsTest, WhyAPackageIsNotUsedIsSaid) {
  const auto fault = [](std::string_view package) { return fault_of(package, "sm_90"); };
  const std::size_t line = whole.find('\n') + 1;
  const std::string start = fmt::format("masu-kernels-3 {} ", version());
  EXPECT_THAT(whole.substr(0, line), ::testing::MatchesRegex(start + "sm_90 [0-9a-f]{16}\n"));
  EXPECT_EQ(fault(whole), "");
  EXPECT_EQ(fault(made_of({}, 1 << 20).first), "");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(fault(std::string_view(whole).substr(0, bytes)), bytes < std::string_view("masu-kernels-3 ").size()
                                                                   ? "it is no package of kernels"
                                                                   : "it is truncated or damaged")
        << bytes;
  }
  EXPECT_EQ(fault("MZ" + whole), "it is no package of kernels");
  EXPECT_EQ(fault("masu-kernels-3 \x1b\n" + whole.substr(line)), "it is truncated or damaged");
  EXPECT_EQ(fault(whole.substr(0, line) + std::string(1000, '\xff')), "it is truncated or damaged");
  const std::string other = "masu-kernels-3 0.0.9 " + whole.substr(start.size());
  EXPECT_EQ(fault(other), fmt::format("it is for masu 0.0.9, this is {}", version()));
  EXPECT_EQ(hits(other), 0U);
  EXPECT_EQ(fault_of(whole, "sm_80"), "it is for sm_90, and named after sm_80");
  std::string changed = whole;
  changed[line - 2] = changed[line - 2] == '0' ? '1' : '0';
  EXPECT_EQ(fault(changed), "it was made of other kernels than this library's: make it anew (masu cache build)");
}

TEST_F(PackagedKernelsTest, UnknownArchitecturesAreRefused) {
  MASU_EXPECT_ERROR((void)compile_only_device("sm_91"), invalid_argument,
                    "--arch takes sm_80, sm_90, sm_100, sm_120, got 'sm_91'");
  MASU_EXPECT_ERROR((void)compile_only_device(""), invalid_argument, "got ''");
}

}  // namespace
}  // namespace masu::runtime

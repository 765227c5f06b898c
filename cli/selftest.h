// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/device.h>

#include <cstdint>
#include <string>
#include <vector>

namespace masu::cli {

// What the cases of one primitive on one device came to.
struct SelftestTally {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::vector<std::string> failures;  // the first few, in words

  void add(bool passed_case, const std::string& name) {
    ++(passed_case ? passed : failed);
    if (!passed_case && failures.size() < 10) failures.push_back(name);
  }
};

void selftest_histogram(const Device& device, SelftestTally& tally);

}  // namespace masu::cli

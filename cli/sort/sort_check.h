// SPDX-License-Identifier: Apache-2.0
// masu sort --is-sorted.
#pragma once

#include "cli/sort/sort_options.h"
#include "times.h"

#include <cstdint>
#include <optional>
#include <string>

namespace masu::cli {

struct OrderCheck {
  std::uint64_t count = 0;
  std::optional<std::uint64_t> out_of_order;  // the first element that comes before the one in front of it
  std::string element;                        // that one, and the one in front of it
  std::string before;
  std::string name;
  Dtype dtype = Dtype::u8;
  std::string device;
  std::uint64_t bad_lines = 0;
  Seconds seconds;
};

// Stops at the first element that is out of order. Throws Differs where the reference finds another one.
OrderCheck check_order(const SortCommandOptions& asked);

}  // namespace masu::cli

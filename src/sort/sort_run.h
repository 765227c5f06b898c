// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace masu {

// Sorted elements: [first, end).
struct Run {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const noexcept { return end - first; }
};

}  // namespace masu

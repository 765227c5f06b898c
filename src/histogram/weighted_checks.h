// SPDX-License-Identifier: Apache-2.0
// What the functions and the accumulator of weighted histograms check alike.
#pragma once

#include <masu/error.h>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace masu {

inline constexpr std::size_t most_weighted_columns = 8;
inline constexpr std::string_view weighted_name = "weighted_histogram";

[[noreturn]] inline void weighted_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", weighted_name, message));
}

inline void check_weighted_columns(std::size_t expected, std::size_t got) {
  if (expected != got) {
    weighted_invalid(fmt::format("there must be {} columns, one for each of the bins, got {}", expected, got));
  }
}

inline void check_count(std::size_t columns) {
  if (columns < 1 || columns > most_weighted_columns) {
    weighted_invalid(fmt::format("columns must be 1 to {}, got {}", most_weighted_columns, columns));
  }
}

inline void check_weighted_lengths(std::uint64_t elements, std::uint64_t weights) {
  if (elements != weights) {
    weighted_invalid(
        fmt::format("there must be a weight for each element, got {} elements and {} weights", elements, weights));
  }
}

}  // namespace masu

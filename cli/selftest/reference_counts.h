// SPDX-License-Identifier: Apache-2.0
// What --verify compares with.
#pragma once

#include "errors.h"
#include "histogram/histogram_reference.h"

#include <fmt/format.h>
#include <span>
#include <string>

namespace masu::cli {

// `where` says what was counted: an input, with its channel or row.
inline void check_count(const std::string& where, std::string_view what, std::uint64_t got, std::uint64_t expected) {
  if (got == expected) return;
  throw Differs(fmt::format("{}, {}: counted {}, the reference counted {}", where, what, got, expected));
}

inline void check_counts(const std::string& where, std::span<const std::uint64_t> got,
                         std::span<const std::uint64_t> expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != expected[i]) check_count(where, fmt::format("bin {}", i), got[i], expected[i]);
  }
}

}  // namespace masu::cli

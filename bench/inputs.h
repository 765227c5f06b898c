// SPDX-License-Identifier: Apache-2.0
// The data that masu and its peers are measured on: masu's own generators, so that everyone counts the same bytes.
#pragma once

#include "cases.h"

#include <masu/buffer.h>
#include <masu/dtype.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace masu::bench {

inline constexpr std::array<std::string_view, 7> distributions = {"uniform", "constant", "normal", "zipf",
                                                                  "sorted",  "runs",     "few"};

// A generator's text (docs/generators.md): integers from 0 to below the case's `hi`, floats in [0, 1).
std::string input_text(const HistogramCase& what, std::uint64_t count, std::string_view distribution);

// About `bytes` bytes of it, in whole units of the case and at most 2^16 rows, in host memory, written once.
class Input {
 public:
  Input(const HistogramCase& what, std::uint64_t bytes, std::string_view distribution);
  [[nodiscard]] ArrayView view() const noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;

 private:
  Dtype dtype_;
  Buffer<std::byte> memory_;
};

}  // namespace masu::bench

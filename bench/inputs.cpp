// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <fmt/format.h>
#include <masu/io.h>

#include <algorithm>
#include <cmath>

namespace masu::bench {

namespace {

constexpr std::uint64_t most_rows = 1U << 16;

std::uint64_t elements(const HistogramCase& what, std::uint64_t bytes) {
  std::uint64_t units = std::max<std::uint64_t>(bytes / size_of(what.dtype) / what.unit(), 1);
  if (what.row != 0) units = std::min(units, most_rows);
  return units * what.unit();
}

}  // namespace

std::string input_text(const HistogramCase& what, std::uint64_t count, std::string_view distribution) {
  std::string text = fmt::format("random:{}:{}:dist={}", to_string(what.dtype), count, distribution);
  if (is_float(what.dtype)) return text + (distribution == "constant" ? ":lo=0.42" : ":lo=0:hi=1");
  // The full range of unsigned types is the generator's own, and quicker to make.
  const bool full = what.hi == std::ldexp(1.0, static_cast<int>(8 * size_of(what.dtype)));
  if (distribution != "constant" && !full) text += fmt::format(":lo=0:hi={:.0f}", what.hi - 1);
  return text;
}

Input::Input(const HistogramCase& what, std::uint64_t bytes, std::string_view distribution)
    : dtype_(what.dtype), memory_(Device::open("cpu"), elements(what, bytes) * size_of(what.dtype)) {
  const std::uint64_t count = memory_.size() / size_of(dtype_);
  io::open(input_text(what, count, distribution))->read(memory_.native(), count);
}

ArrayView Input::view() const noexcept {
  return {dtype_, memory_.native(), memory_.size() / size_of(dtype_)};
}

std::span<const std::byte> Input::bytes() const noexcept {
  return {static_cast<const std::byte*>(memory_.native()), memory_.size()};
}

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <fmt/format.h>
#include <masu/io.h>

namespace masu::bench {

std::string input_text(Dtype dtype, std::uint64_t count, std::string_view distribution) {
  std::string text = fmt::format("random:{}:{}:dist={}", to_string(dtype), count, distribution);
  if (is_float(dtype)) text += distribution == "constant" ? ":lo=0.42" : ":lo=0:hi=1";
  return text;
}

Input::Input(Dtype dtype, std::uint64_t bytes, std::string_view distribution)
    : dtype_(dtype), memory_(Device::open("cpu"), bytes / size_of(dtype) * size_of(dtype)) {
  const std::uint64_t count = memory_.size() / size_of(dtype);
  io::open(input_text(dtype, count, distribution))->read(memory_.native(), count);
}

ArrayView Input::view() const noexcept {
  return {dtype_, memory_.native(), memory_.size() / size_of(dtype_)};
}

std::span<const std::byte> Input::bytes() const noexcept {
  return {static_cast<const std::byte*>(memory_.native()), memory_.size()};
}

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <masu/io.h>

namespace masu::bench {

Input::Input(Dtype dtype, std::uint64_t count) : dtype_(dtype), memory_(Device::open("cpu"), count * size_of(dtype)) {}

Input::Input(Dtype dtype, std::uint64_t count, const std::string& generator) : Input(dtype, count) {
  io::open(generator)->read(memory_.native(), count);
}

ArrayView Input::view() const noexcept {
  return {dtype_, memory_.native(), memory_.size() / size_of(dtype_)};
}

std::span<const std::byte> Input::bytes() const noexcept {
  return {static_cast<const std::byte*>(memory_.native()), memory_.size()};
}

std::span<std::byte> Input::bytes() noexcept {
  return {static_cast<std::byte*>(memory_.native()), memory_.size()};
}

}  // namespace masu::bench

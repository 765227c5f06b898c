// SPDX-License-Identifier: Apache-2.0
#include "element_bits.h"

#include "io/half.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>

namespace masu::cli {

std::uint64_t bits_of(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const T*>(data.data) + i, sizeof(T));
    return bits;
  });
}

std::uint64_t bits_of(double value, Dtype dtype) {
  if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return io::to_half(value).bits;
}

bool is_nan(const ArrayView& data, std::uint64_t i) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    [[maybe_unused]] const T value = static_cast<const T*>(data.data)[i];
    if constexpr (std::integral<T>) return false;
    else if constexpr (std::same_as<T, Half>) return std::isnan(io::to_double(value));
    else return std::isnan(value);
  });
}

}  // namespace masu::cli

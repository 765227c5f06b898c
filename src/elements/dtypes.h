// SPDX-License-Identifier: Apache-2.0
// The table of dtypes (masu/dtypes.def) for masu's own code: names, formats of floats, lists.
#pragma once

#include <masu/dtype.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace masu {

struct DtypeNames {
  Dtype dtype;
  std::string_view name;
  std::string_view kernel_type;  // in which kernels compute
  std::string_view from_bits;    // makes a value of that type of an element's bits
  std::uint8_t dlpack_code;
  int numpy_number;  // of 64-bit integers that of long long; -1: NumPy lacks the dtype
  std::string_view numpy_name;
  std::string_view numpy_characters;
  std::string_view numpy_words;  // with blanks between them
  std::string_view c_names;      // with ", " between them
};

inline constexpr auto dtype_names = std::to_array<DtypeNames>({
#define MASU_DTYPE(name, type, kind, exponent_bits, fraction_bits, ...) {Dtype::name, #name, __VA_ARGS__},
#include <masu/dtypes.def>
});
[[nodiscard]] constexpr const DtypeNames& names_of(Dtype dtype) noexcept {
  return dtype_names[static_cast<std::size_t>(dtype)];
}

[[nodiscard]] constexpr detail::DtypeClass class_of(Dtype dtype) noexcept {
  return detail::form_of(dtype).kind;
}

// All dtypes, by their numbers.
inline constexpr auto all_dtypes = std::to_array<Dtype>({
#define MASU_DTYPE(name, ...) Dtype::name,
#include <masu/dtypes.def>
});

// The first dtype whose names `accept` takes; null where there is none.
template <class F>
[[nodiscard]] constexpr const DtypeNames* find_dtype(const F& accept) {
  for (const DtypeNames& names : dtype_names) {
    if (accept(names)) return &names;
  }
  return nullptr;
}

// The dtype of a type of DLPack with one lane; null where there is none.
[[nodiscard]] constexpr const DtypeNames* find_dlpack(unsigned code, unsigned bits) {
  return find_dtype(
      [&](const DtypeNames& each) { return each.dlpack_code == code && 8 * size_of(each.dtype) == bits; });
}

// Whether `word` is one of `words`.
[[nodiscard]] constexpr bool has_word(std::string_view words, std::string_view word, std::string_view separator) {
  for (std::size_t from = 0; from <= words.size();) {
    const std::size_t end = std::min(words.find(separator, from), words.size());
    if (words.substr(from, end - from) == word) return true;
    from = end + separator.size();
  }
  return false;
}

// The unsigned integer of so many bytes.
template <std::size_t Bytes>
using UnsignedOf = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

// A format of floats: magnitudes are multiples of 2^least, have `precision` significant bits, and are below 2^end. Of
// integers only the precision is set.
struct FloatFormat {
  int precision;
  int least;
  int end;
};
[[nodiscard]] constexpr FloatFormat float_format(Dtype dtype) noexcept {
  const detail::DtypeForm& form = detail::form_of(dtype);
  if (form.exponent_bits == 0) return {form.fraction_bits + 1, 0, 0};
  const int end = 1 << (form.exponent_bits - 1);
  return {form.fraction_bits + 1, 2 - end - form.fraction_bits, end};
}
// 2^exponent, a normal number.
[[nodiscard]] constexpr double power_of_two(int exponent) noexcept {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}
// The greatest finite number.
[[nodiscard]] constexpr double greatest_of(const FloatFormat& format) noexcept {
  return power_of_two(format.end - 1) * (2 - power_of_two(1 - format.precision));
}
// Numbers from this on are rounded to infinity, to nearest.
[[nodiscard]] constexpr double overflow_of(const FloatFormat& format) noexcept {
  return power_of_two(format.end) - power_of_two(format.end - format.precision - 1);
}
// The bits of T's infinity, 0 where T has none.
template <class T>
inline constexpr std::uint64_t infinity_bits = ((std::uint64_t{1} << detail::form_of(dtype_of<T>).exponent_bits) - 1)
                                               << detail::form_of(dtype_of<T>).fraction_bits;

// Whether loops and kernels compute with a float as with a C++ float: it is only stored as it is.
[[nodiscard]] constexpr bool is_stored_float(Dtype dtype) noexcept {
  return is_float(dtype) && size_of(dtype) < sizeof(float);
}
template <class T>
inline constexpr bool is_stored = is_stored_float(dtype_of<T>);
// Whether elements are multiples of the least one of so few bits that sums of up to 2^(49 - bits) are exact in doubles.
[[nodiscard]] constexpr bool has_few_places(Dtype dtype) noexcept {
  return is_stored_float(dtype) && float_format(dtype).end - float_format(dtype).least < 50;
}
// The dtype in which bins and quantiles are computed as NumPy computes them: f32 of stored floats that NumPy lacks.
[[nodiscard]] constexpr Dtype arithmetic_dtype(Dtype dtype) noexcept {
  return is_stored_float(dtype) && names_of(dtype).numpy_number < 0 ? Dtype::f32 : dtype;
}
// The type in which loops compute with elements of T.
template <class T>
using ComputedAs = std::conditional_t<is_stored<T>, float, T>;

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu_keys.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

namespace masu::cpu {

namespace {

constexpr std::size_t by_digits_from = 1024;
constexpr std::size_t halves_by_digits_from = 192;  // keys of 16 bits: two digits alone, and vqsort is slow with AVX2
constexpr unsigned leaf_digit_bits = 8;
constexpr std::size_t leaf_digit_values = std::size_t{1} << leaf_digit_bits;

// vqsort packs keys of 16 and 32 bits by instructions that Zen 4 stores one by one: 24 ns a key of 32 bits, 5 by
// digits.
bool packs_slowly() {
#if defined(__x86_64__)
  static const bool slow = __builtin_cpu_is("amdfam19h") != 0 && __builtin_cpu_supports("avx512f") != 0;
  return slow;
#else
  return false;
#endif
}

// The least digit first.
template <class Code>
void by_digits(Code* codes, std::size_t count, Code* spare) {
  using Bits = std::make_unsigned_t<Code>;
  constexpr unsigned passes = 8 * sizeof(Code) / leaf_digit_bits;
  constexpr Bits flip = std::is_signed_v<Code> ? static_cast<Bits>(std::numeric_limits<Code>::min()) : Bits{0};
  const auto digit = [](Code code, unsigned pass) {
    return (static_cast<Bits>(static_cast<Bits>(code) ^ flip) >> (pass * leaf_digit_bits)) % leaf_digit_values;
  };
  std::array<std::array<std::size_t, leaf_digit_values>, passes> places{};
  for (std::size_t i = 0; i < count; ++i) {
    for (unsigned pass = 0; pass < passes; ++pass) ++places[pass][digit(codes[i], pass)];
  }
  Code* from = codes;
  Code* to = spare;
  for (unsigned pass = 0; pass < passes; ++pass) {
    auto& place = places[pass];
    if (place[digit(codes[0], pass)] == count) continue;  // all have this digit
    std::size_t sum = 0;
    for (std::size_t& one : place) {
      const std::size_t here = one;
      one = sum;
      sum += here;
    }
    for (std::size_t i = 0; i < count; ++i) to[place[digit(from[i], pass)]++] = from[i];
    std::swap(from, to);
  }
  if (from != codes) std::copy(from, from + count, codes);
}

template <class Code>
void sort_one(Code* codes, std::size_t count) {
  if (count >= by_digits_from && packs_slowly()) {
    try {
      return sort_leaf_by_digits(codes, count);
    } catch (const std::bad_alloc&) {  // the other way needs no memory
    }
  }
  hwy::Sorter()(codes, count, hwy::SortAscending());
}

template <class Code>
void sort_one_by_digits(Code* codes, std::size_t count) {
  if (count < 2) return;
  const auto spare = std::make_unique_for_overwrite<Code[]>(count);
  by_digits(codes, count, spare.get());
}

}  // namespace

void sort_leaf(std::uint16_t* codes, std::size_t count) {
  if (count < halves_by_digits_from) return hwy::Sorter()(codes, count, hwy::SortAscending());
  sort_leaf_by_digits(codes, count);
}
void sort_leaf(std::int32_t* codes, std::size_t count) {
  sort_one(codes, count);
}
void sort_leaf(std::int64_t* codes, std::size_t count) {
  hwy::Sorter()(codes, count, hwy::SortAscending());
}

void sort_leaf_by_digits(std::uint16_t* codes, std::size_t count) {
  sort_one_by_digits(codes, count);
}
void sort_leaf_by_digits(std::int32_t* codes, std::size_t count) {
  sort_one_by_digits(codes, count);
}

}  // namespace masu::cpu

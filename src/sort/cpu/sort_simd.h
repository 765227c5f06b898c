// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of sorting on the CPU, dispatched at run time to the best instruction set (Highway).
//
// They see keys as signed integers of the keys' width, "codes", that are ordered as asked. Coding keeps all bits, so -0
// comes right before +0, and NaNs lie beyond the infinities of their sign.
#pragma once

#include <masu/dtype.h>
#include <masu/sort.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace masu::cpu {

template <class T>
using CodeOf = std::conditional_t<
    sizeof(T) == 1, std::int8_t,
    std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;

// code = turned ^ flip, where `turned` is the key's bits, those of a negative float but the sign inverted.
template <class Code>
struct Coding {
  Code flip = 0;
  bool is_float = false;
  [[nodiscard]] bool is_identity() const noexcept { return flip == 0 && !is_float; }
};

template <class T>
[[nodiscard]] constexpr Coding<CodeOf<T>> coding_of(Order order) noexcept {
  using Code = CodeOf<T>;
  const Code sign = std::is_unsigned_v<T> ? std::numeric_limits<Code>::min() : Code{0};
  return {static_cast<Code>(order == Order::descending ? ~sign : sign), !std::is_integral_v<T>};
}

// Lower codes than `pivot` come first. The elements are coded where `coding` says so, else they are codes already.
// Works in place. Returns how many are lower.
std::size_t partition_codes(std::int32_t* codes, std::size_t count, std::int32_t pivot, Coding<std::int32_t> coding);
std::size_t partition_codes(std::int64_t* codes, std::size_t count, std::int64_t pivot, Coding<std::int64_t> coding);

// The same for two ranges at once, the left one filled with lower codes and the right one with the others as far as
// they go: each then has its lower codes first. The counts of these.
struct LowerCounts {
  std::size_t left, right;
};
LowerCounts partition_codes(std::int32_t* left, std::size_t left_count, std::int32_t* right, std::size_t right_count,
                            std::int32_t pivot, Coding<std::int32_t> coding);
LowerCounts partition_codes(std::int64_t* left, std::size_t left_count, std::int64_t* right, std::size_t right_count,
                            std::int64_t pivot, Coding<std::int64_t> coding);

// Turns bits into codes, in place, and back.
void encode(std::int32_t* bits, std::size_t count, Coding<std::int32_t> coding);
void encode(std::int64_t* bits, std::size_t count, Coding<std::int64_t> coding);
void decode(std::int32_t* codes, std::size_t count, Coding<std::int32_t> coding);
void decode(std::int64_t* codes, std::size_t count, Coding<std::int64_t> coding);

// Swaps the `count` elements from `left` on with those before `right_end`, the first with the last. They are apart.
void swap_mirrored(std::int32_t* left, std::int32_t* right_end, std::size_t count);
void swap_mirrored(std::int64_t* left, std::int64_t* right_end, std::size_t count);

// Two sorted runs and the place of what they become, which is apart from them.
template <class Code>
struct CodeRuns {
  const Code* a;
  std::size_t a_count;
  const Code* b;
  std::size_t b_count;
  Code* to;
};
// Merges two pairs of runs of coded elements in turns.
void merge_codes(const CodeRuns<std::int32_t>& first, const CodeRuns<std::int32_t>& second,
                 Coding<std::int32_t> coding);
void merge_codes(const CodeRuns<std::int64_t>& first, const CodeRuns<std::int64_t>& second,
                 Coding<std::int64_t> coding);

// How neighbours stand to each other, zeros as equals and NaNs as equals. Stops where neither is true any more.
struct Trend {
  bool rising = true;   // no key comes before the one on its left: in order
  bool falling = true;  // no key comes after the one on its left
};
Trend trend_of(Dtype dtype, const void* keys, std::size_t count, Order order);

// The values whose order their codes do not tell.
struct Specials {
  bool negative_zero = false, positive_zero = false, nan = false;
  [[nodiscard]] bool are_seen() const noexcept { return nan || (negative_zero && positive_zero); }
};
Specials specials_of(const Half* keys, std::size_t count);
Specials specials_of(const float* keys, std::size_t count);
Specials specials_of(const double* keys, std::size_t count);

// The least and the greatest sort_key(); of no keys the least is above the greatest.
struct KeyRange {
  std::uint64_t least, greatest;
};
KeyRange key_range(Dtype dtype, const void* keys, std::size_t count, Order order);
// sort_key() less `least`, as unsigned integers of the keys' width.
void key_numbers(Dtype dtype, const void* keys, std::size_t count, Order order, std::uint64_t least, void* numbers);

}  // namespace masu::cpu

// SPDX-License-Identifier: Apache-2.0
// The SIMD loops of sorting on the CPU, dispatched at run time to the best instruction set (Highway).
//
// They see keys as signed integers of the keys' width, "codes", that are ordered as asked. Coding keeps all bits, so -0
// comes right before +0, and NaNs lie beyond the infinities of their sign.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>
#include <masu/sort.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// f(32, std::int32_t) and so on for the codes that most loops know.
#define MASU_EACH_CODE(f) f(32, std::int32_t) f(64, std::int64_t)

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

// How elements become sort_key()s: ordered_key() of an unsigned integer or a float, with the bits of `flip` inverted.
// Signed integers are seen as unsigned ones with another flip, and so is the descending order, so that no loop is
// compiled for these.
template <class T>
struct Keys {
  KeyOf<T> flip = 0;
  [[nodiscard]] constexpr KeyOf<T> operator()(T element) const noexcept {
    return static_cast<KeyOf<T>>(ordered_key(element) ^ flip);
  }
  [[nodiscard]] constexpr Coding<CodeOf<T>> coding() const noexcept {
    return {static_cast<CodeOf<T>>(is_float_type<T> ? flip : flip ^ key_sign<T>), is_float_type<T>};
  }
};
// Calls f(Keys<T>) for elements of a dtype.
template <class F>
auto with_keys(Dtype dtype, Order order, const F& f) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Seen = std::conditional_t<std::is_integral_v<T>, KeyOf<T>, T>;
    constexpr KeyOf<T> sign = std::is_integral_v<T> && std::is_signed_v<T> ? key_sign<T> : KeyOf<T>{0};
    return f(Keys<Seen>{order == Order::descending ? static_cast<KeyOf<T>>(~sign) : sign});
  });
}
// The same rule where the type is known at run time.
struct KeyRule {
  Dtype dtype;
  std::uint64_t flip;
  template <class T>
  KeyRule(Keys<T> key) noexcept : dtype(dtype_of<T>), flip(key.flip) {}  // NOLINT(google-explicit-constructor)
  KeyRule(Dtype elements, Order order) : KeyRule(with_keys(elements, order, [](auto key) -> KeyRule { return key; })) {}
};
template <class F>
auto with_keys(const KeyRule& rule, const F& f) {
  return dispatch(rule.dtype, [&](auto tag) -> decltype(f(Keys<std::uint8_t>())) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) __builtin_unreachable();
    else return f(Keys<T>{static_cast<KeyOf<T>>(rule.flip)});
  });
}

struct LowerCounts {
  std::size_t left, right;
};
// Two sorted runs and the place of what they become, which is apart from them.
template <class Code>
struct CodeRuns {
  const Code* a;
  std::size_t a_count;
  const Code* b;
  std::size_t b_count;
  Code* to;
};
// The loops over codes, compiled for one set of instructions.
template <class Code>
struct CodeLoops {
  // Lower codes than `pivot` come first. The elements are coded where `coding` says so, else they are codes already.
  // Works in place. Returns how many are lower.
  std::size_t (*partition)(Code* codes, std::size_t count, Code pivot, Coding<Code> coding);
  // The same for two ranges at once, the left one filled with lower codes and the right one with the others as far as
  // they go: each then has its lower codes first. The counts of these.
  LowerCounts (*partition_two)(Code* left, std::size_t left_count, Code* right, std::size_t right_count, Code pivot,
                               Coding<Code> coding);
  // Turns bits into codes, in place, and back.
  void (*encode)(Code* bits, std::size_t count, Coding<Code> coding);
  void (*decode)(Code* codes, std::size_t count, Coding<Code> coding);
  // Swaps the `count` elements from `left` on with those before `right_end`, the first with the last. They are apart.
  void (*swap_mirrored)(Code* left, Code* right_end, std::size_t count);
  // Merges two pairs of runs of coded elements in turns.
  void (*merge)(const CodeRuns<Code>& first, const CodeRuns<Code>& second, Coding<Code> coding);
};
template <class Code>
const CodeLoops<Code>& code_loops();

// How keys stand to those `distance` before them, zeros as equals and NaNs as equals. Stops where neither is true any
// more.
struct Trend {
  bool rising = true;   // none comes before the other one: in order
  bool falling = true;  // none comes after it
};
Trend trend_of(const KeyRule& rule, const void* keys, std::size_t count, std::size_t distance = 1);

// The values whose order their codes do not tell.
struct Specials {
  bool negative_zero = false, positive_zero = false, nan = false;
  [[nodiscard]] bool are_seen() const noexcept { return nan || (negative_zero && positive_zero); }
};
Specials specials_of(Dtype dtype, const void* keys, std::size_t count);
template <class T>
Specials specials_of(const T* keys, std::size_t count) {
  return specials_of(dtype_of<T>, keys, count);
}

// The least and the greatest key; of no keys the least is above the greatest.
struct KeyRange {
  std::uint64_t least, greatest;
};
KeyRange key_range(const KeyRule& rule, const void* keys, std::size_t count);
// Keys less `least`, as unsigned integers of their width.
void key_numbers(const KeyRule& rule, const void* keys, std::size_t count, std::uint64_t least, void* numbers);

// Short rows, many at a time: each in a lane of vectors, so that one operation serves as many rows as there are lanes
// (Highway, dispatched at run time).
//
// T: int32, uint32, int64, uint64, float or double. Among the elements there is no NaN, and no zeros of both signs.

template <class T>
inline constexpr bool is_wide = sizeof(T) >= 4;

// Rows of up to so many elements are worth sorting so.
inline constexpr std::size_t short_row_most = 512;
// Longer rows than this are so only where they fill the lanes: a call for one row costs what a call for many costs.
inline constexpr std::size_t any_number_most = 32;
inline constexpr std::size_t lanes_most = 16;
[[nodiscard]] constexpr bool are_short_rows(std::uint64_t rows, std::uint64_t length) noexcept {
  return length >= 2 && length <= (rows < lanes_most / 2 ? any_number_most : short_row_most);
}
// How many rows to take at a time: whole vectors of them, about `elements` in all.
[[nodiscard]] constexpr std::uint64_t short_rows_in(std::uint64_t elements, std::uint64_t length) noexcept {
  const std::uint64_t rows = elements / length / lanes_most * lanes_most;
  return rows < lanes_most ? lanes_most : rows;
}

// The element at a place of the order of each row of more than near_end_most, with fewer than that before or after it.
inline constexpr std::size_t near_end_most = 8;
[[nodiscard]] constexpr bool is_near_end(std::uint64_t place, std::uint64_t length) noexcept {
  return length > near_end_most && (place < near_end_most || length - place <= near_end_most);
}
// Rows of up to so many elements are worth comparing each with each.
inline constexpr std::size_t ranked_row_most = 24;

// The loops over short rows, compiled for one set of instructions.
template <class T>
struct ShortRowLoops {
  // Sorts rows of 2 to short_row_most elements; `sorted` may be x.
  void (*sort)(const T* x, std::uint64_t rows, std::size_t length, T* sorted);
  // The same, but left in groups of as many rows as a vector has lanes, which is returned: element i of row r is
  // columns[(r / lanes * length + i) * lanes + r % lanes]. `columns`, which starts at a multiple of 64 bytes, has room
  // for the rows rounded up to lanes_most.
  std::size_t (*sort_to_columns)(const T* x, std::uint64_t rows, std::size_t length, T* columns);
  // The element at `place`, for which is_near_end() holds, of the order of each row.
  void (*find_near_end)(const T* x, std::uint64_t rows, std::size_t length, std::size_t place, T* elements);
  // The place of each element in the stable order of its row of 2 to ranked_row_most.
  void (*rank)(const T* x, std::uint64_t rows, std::size_t length, bool descending, std::uint8_t* ranks);
};
template <class T>
const ShortRowLoops<T>& short_row_loops();

}  // namespace masu::cpu

// SPDX-License-Identifier: Apache-2.0
// Elements as ranks: unsigned numbers that are the less the better an element is. The extreme is the first element of
// the least rank. The kernels' half is order.cl.
#pragma once

#include "elements/order.h"

#include <masu/dtype.h>
#include <masu/reduce.h>

#include <bit>
#include <cstdint>
#include <tuple>
#include <vector>

namespace masu {

// Which element is the extreme. A NaN has the best rank of all, or where NaNs are skipped the worst; no number has
// either.
struct ExtremeRule {
  bool largest = false;
  bool skip = false;

  template <class T>
  [[nodiscard]] std::uint64_t operator()(T x) const noexcept {
    using Key = KeyOf<T>;
    const Key key = ordered_key(x);
    if constexpr (infinity_bits<T> != 0) {
      if (key == static_cast<Key>(~Key{0})) return skip ? ~std::uint64_t{0} : 0;
    }
    return largest ? static_cast<Key>(~key) : key;
  }
};

// The rank of the element of the dtype with these bits.
[[nodiscard]] inline std::uint64_t rank_of_bits(Dtype dtype, const ExtremeRule& rule, std::uint64_t bits) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) { return rule(std::bit_cast<T>(static_cast<KeyOf<T>>(bits))); });
}

inline constexpr std::uint64_t no_index = ~std::uint64_t{0};

// An extreme, with its bits.
struct Extreme {
  std::uint64_t rank = ~std::uint64_t{0};
  std::uint64_t index = no_index;
  std::uint64_t bits = 0;

  [[nodiscard]] bool before(const Extreme& other) const noexcept {
    return std::tie(rank, index) < std::tie(other.rank, other.index);
  }
  // Its index; none where all elements are NaNs that are skipped.
  [[nodiscard]] std::uint64_t place(Dtype dtype, bool skip) const noexcept {
    return skip && is_float(dtype) && rank == ~std::uint64_t{0} ? no_index : index;
  }
};

// What is found in some elements: the least, the greatest, how many are not zero; what was asked for.
struct Reduced {
  Extreme extremes[2];  // least, greatest
  std::uint64_t nonzero = 0;

  // Adds what was found in the elements after these.
  void merge(const Reduced& later) noexcept {
    for (int which = 0; which < 2; ++which) {
      if (later.extremes[which].before(extremes[which])) extremes[which] = later.extremes[which];
    }
    nonzero += later.nonzero;
  }
};

// Whether extreme 0 (the least) or 1 (the greatest) is asked for.
[[nodiscard]] constexpr bool wants(ReduceOp op, int which) noexcept {
  return op == ReduceOp::minmax || op == (which == 0 ? ReduceOp::min : ReduceOp::max);
}

inline constexpr std::string_view reduce_name = "reduce";  // in messages

// Makes results.
struct ReduceParts {
  static ReduceResult make(Dtype dtype, ReduceOp op, bool skip, const std::vector<Reduced>& rows);
};

}  // namespace masu

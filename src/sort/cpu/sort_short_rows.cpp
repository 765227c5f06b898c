// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_simd.h"

#include "elements/each_type.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sort/cpu/sort_short_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The side of a square of elements that is transposed in registers.
template <class T>
inline constexpr std::size_t square_side = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
template <class T>
HWY_INLINE void TransposeSquare(const T* from, std::size_t from_stride, T* to, std::size_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  (void)from_stride, (void)to_stride;
  *to = *from;
#else
  const hn::Full128<T> d;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + from_stride);
  const auto lower = hn::InterleaveLower(d, a, b);
  const auto upper = hn::InterleaveUpper(d, a, b);
  if constexpr (sizeof(T) == 8) {
    hn::StoreU(lower, d, to);
    hn::StoreU(upper, d, to + to_stride);
  } else {
    const hn::Repartition<std::uint64_t, decltype(d)> pairs;
    const auto c = hn::LoadU(d, from + 2 * from_stride);
    const auto e = hn::LoadU(d, from + 3 * from_stride);
    const auto put = [&](auto first, auto second, T* at) HWY_ATTR {
      const auto one = hn::BitCast(pairs, first);
      const auto other = hn::BitCast(pairs, second);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, one, other)), d, at);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, one, other)), d, at + to_stride);
    };
    put(lower, hn::InterleaveLower(d, c, e), to);
    put(upper, hn::InterleaveUpper(d, c, e), to + 2 * to_stride);
  }
#endif
}
// A matrix of `height` rows, `from_stride` elements from each other.
template <class T>
HWY_INLINE void TransposeRows(const T* from, std::size_t from_stride, std::size_t height, std::size_t width, T* to,
                              std::size_t to_stride) {
  constexpr std::size_t side = square_side<T>;
  std::size_t row = 0;
  for (; row + side <= height; row += side) {
    std::size_t i = 0;
    for (; i + side <= width; i += side) {
      TransposeSquare(from + row * from_stride + i, from_stride, to + i * to_stride + row, to_stride);
    }
    for (; i < width; ++i) {
      for (std::size_t k = row; k < row + side; ++k) to[i * to_stride + k] = from[k * from_stride + i];
    }
  }
  for (; row < height; ++row) {
    for (std::size_t i = 0; i < width; ++i) to[i * to_stride + row] = from[row * from_stride + i];
  }
}

// As many rows as a vector has lanes, or fewer: element i of row r in lane r of column i.
template <class T>
HWY_INLINE void ToColumns(const T* x, std::size_t rows, std::size_t length, T* columns) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  if (rows < lanes) std::fill_n(columns, length * lanes, T{0});
  TransposeRows(x, length, rows, length, columns, lanes);
}

template <class V>
HWY_INLINE void Exchange(V& a, V& b) {
  const auto less = hn::Min(a, b);
  b = hn::Max(a, b);
  a = less;
}
// Columns `step` elements from each other.
template <class T>
struct ColumnsApart {
  using D = hn::ScalableTag<T>;
  T* first;
  std::size_t step;
  HWY_INLINE auto operator[](std::size_t i) const { return hn::Load(D(), first + i * step); }
  template <class V>
  HWY_INLINE void Put(std::size_t i, V v) const {
    hn::Store(v, D(), first + i * step);
  }
  template <class V>
  HWY_INLINE void PutEight(std::size_t i, V a, V b, V c, V e, V f, V g, V h, V k) const {
    for (const auto& each : {a, b, c, e, f, g, h, k}) Put(i++, each);
  }
};

// Eight columns, of which with `halves` both halves are in order; or the first three steps of a merge of longer ones.
template <class T>
HWY_INLINE void SortEight(const ColumnsApart<T>& x, bool halves) {
  auto a = x[0], b = x[1], c = x[2], e = x[3], f = x[4], g = x[5], h = x[6], k = x[7];
  if (!halves) {
    Exchange(a, b), Exchange(c, e), Exchange(f, g), Exchange(h, k);
    Exchange(a, c), Exchange(b, e), Exchange(f, h), Exchange(g, k);
    Exchange(b, c), Exchange(g, h);
  }
  Exchange(a, f), Exchange(b, g), Exchange(c, h), Exchange(e, k);
  Exchange(c, f), Exchange(e, g);
  Exchange(b, c), Exchange(e, f), Exchange(g, h);
  x.PutEight(0, a, b, c, e, f, g, h, k);
}
// Up to three further steps of a merge, of columns 4, 2 and 1 apart.
template <unsigned Steps, class T>
HWY_INLINE void MergeOn(const ColumnsApart<T>& x, std::size_t count) {
  auto a = x[1], b = x[2], c = x[3];
  std::size_t i = 0;
  for (; i + 12 <= count; i += 8) {
    auto e = x[i + 4], f = x[i + 5], g = x[i + 6], h = x[i + 7], k = x[i + 8], l = x[i + 9], m = x[i + 10],
         n = x[i + 11];
    if constexpr (Steps > 2) Exchange(e, k), Exchange(f, l), Exchange(g, m), Exchange(h, n);
    if constexpr (Steps > 1) Exchange(b, e), Exchange(c, f), Exchange(g, k), Exchange(h, l);
    Exchange(a, b), Exchange(c, e), Exchange(f, g), Exchange(h, k);
    x.PutEight(i + 1, a, b, c, e, f, g, h, k);
    a = l;
    b = m;
    c = n;
  }
  auto e = x[i + 4], f = x[i + 5], g = x[i + 6];
  if constexpr (Steps > 1) Exchange(b, e), Exchange(c, f);
  Exchange(a, b), Exchange(c, e), Exchange(f, g);
  std::size_t at = i + 1;
  for (const auto& each : {a, b, c, e, f, g}) x.Put(at++, each);
}

// A sorting network, of which several steps are taken in registers. There is room for a power of two of columns, at
// least eight; more than `width` get the greatest element. Method: K. E. Batcher's odd-even merges; D. E. Knuth,
// TAOCP 3, 5.3.4.
template <class T>
void SortColumns(T* columns, std::size_t width) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using Limits = std::numeric_limits<T>;
  const auto greatest = hn::Set(d, Limits::has_infinity ? Limits::infinity() : Limits::max());
  if (width <= 4) {
    const ColumnsApart<T> x{columns, lanes};
    auto a = x[0], b = x[1], c = width > 2 ? x[2] : greatest, e = width > 3 ? x[3] : greatest;
    Exchange(a, c), Exchange(b, e), Exchange(a, b), Exchange(c, e), Exchange(b, c);
    x.Put(0, a), x.Put(1, b);
    if (width > 2) x.Put(2, c);
    if (width > 3) x.Put(3, e);
    return;
  }
  std::size_t all = 8;
  while (all < width) all *= 2;
  for (std::size_t i = width; i < all; ++i) hn::Store(greatest, d, columns + i * lanes);
  for (std::size_t i = 0; i < width; i += 8) SortEight<T>({columns + i * lanes, lanes}, false);
  for (std::size_t half = 8; half < all; half *= 2) {
    for (std::size_t block = 0; block + half < width; block += 2 * half) {
      const std::size_t used = width - block;
      const auto apart = [&](std::size_t distance, const auto& work) HWY_ATTR {
        for (std::size_t i = 0; i < distance; ++i) {
          work(ColumnsApart<T>{columns + (block + i) * lanes, distance * lanes},
               std::min(2 * half, (used + 8 * distance - 1) / (8 * distance) * 8 * distance) / distance);
        }
      };
      apart(half / 4, [](const auto& x, std::size_t) HWY_ATTR { SortEight<T>(x, true); });
      for (std::size_t distance = half / 4; distance > 1;) {
        if (distance == 2) {
          apart(distance /= 2, [](const auto& x, std::size_t n) HWY_ATTR { MergeOn<1>(x, n); });
        } else if (distance == 4 || distance == 16) {
          apart(distance /= 4, [](const auto& x, std::size_t n) HWY_ATTR { MergeOn<2>(x, n); });
        } else {
          apart(distance /= 8, [](const auto& x, std::size_t n) HWY_ATTR { MergeOn<3>(x, n); });
        }
      }
    }
  }
}

template <class T>
void SortShortRows(const T* x, std::uint64_t rows, std::size_t length, T* sorted) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  HWY_ALIGN T columns[short_row_most * HWY_MAX_BYTES / sizeof(T)];
  for (std::uint64_t first = 0; first < rows; first += lanes) {
    const std::size_t here = std::min<std::uint64_t>(lanes, rows - first);
    ToColumns(x + first * length, here, length, columns);
    SortColumns(columns, length);
    TransposeRows(columns, lanes, length, here, sorted + first * length, length);
  }
}

template <class T>
std::size_t SortToColumns(const T* x, std::uint64_t rows, std::size_t length, T* columns) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  HWY_ALIGN T sorted[short_row_most * HWY_MAX_BYTES / sizeof(T)];
  for (std::uint64_t first = 0; first < rows; first += lanes) {
    ToColumns(x + first * length, std::min<std::uint64_t>(lanes, rows - first), length, sorted);
    SortColumns(sorted, length);
    std::copy_n(sorted, length * lanes, columns + first * length);
  }
  return lanes;
}

// The element at `place` from the first or the last one on: the first ones so far stay in registers.
template <bool Last, class T>
void FindFromEnd(const T* x, std::uint64_t rows, std::size_t length, std::size_t place, T* elements) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN T columns[short_row_most * HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T found[near_end_most * HWY_MAX_BYTES / sizeof(T)];
  const auto exchange = [&](auto& first, auto& other) HWY_ATTR {
    const auto less = hn::Min(first, other);
    const auto more = hn::Max(first, other);
    first = Last ? more : less;
    other = Last ? less : more;
  };
  for (std::uint64_t row = 0; row < rows; row += lanes) {
    const std::size_t here = std::min<std::uint64_t>(lanes, rows - row);
    ToColumns(x + row * length, here, length, columns);
    SortColumns(columns, near_end_most);
    const auto column = [&](std::size_t i) HWY_ATTR {
      return hn::Load(d, columns + (Last && i < near_end_most ? near_end_most - 1 - i : i) * lanes);
    };
    auto a = column(0), b = column(1), c = column(2), e = column(3);
    auto f = column(4), g = column(5), h = column(6), k = column(7);
    for (std::size_t i = near_end_most; i < length; ++i) {
      auto next = column(i);
      exchange(a, next);
      exchange(b, next);
      exchange(c, next);
      exchange(e, next);
      exchange(f, next);
      exchange(g, next);
      exchange(h, next);
      exchange(k, next);
    }
    std::size_t at = 0;
    for (const auto& each : {a, b, c, e, f, g, h, k}) hn::Store(each, d, found + at++ * lanes);
    std::copy_n(found + place * lanes, here, elements + row);
  }
}

template <class T>
void RankShortRows(const T* x, std::uint64_t rows, std::size_t length, bool descending, std::uint8_t* ranks) {
  using Rank = hwy::MakeSigned<T>;
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<Rank> dr;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN T columns[ranked_row_most * HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN Rank places[ranked_row_most * HWY_MAX_BYTES / sizeof(T)];
  for (std::uint64_t first = 0; first < rows; first += lanes) {
    const std::size_t here = std::min<std::uint64_t>(lanes, rows - first);
    ToColumns(x + first * length, here, length, columns);
    for (std::size_t j = 0; j < length; ++j) {
      const auto later = hn::Load(d, columns + j * lanes);
      auto place = hn::Set(dr, static_cast<Rank>(j));
      for (std::size_t i = 0; i < j; ++i) {
        const auto earlier = hn::Load(d, columns + i * lanes);
        const auto swapped = descending ? hn::Gt(later, earlier) : hn::Lt(later, earlier);
        const auto minus_one = hn::BitCast(dr, hn::VecFromMask(d, swapped));  // where the later one comes first
        place = hn::Add(place, minus_one);
        hn::Store(hn::Sub(hn::Load(dr, places + i * lanes), minus_one), dr, places + i * lanes);
      }
      hn::Store(place, dr, places + j * lanes);
    }
    for (std::size_t row = 0; row < here; ++row) {
      std::uint8_t* const to = ranks + (first + row) * length;
      for (std::size_t i = 0; i < length; ++i) to[i] = static_cast<std::uint8_t>(places[i * lanes + row]);
    }
  }
}

template <class T>
void FindNearEnd(const T* x, std::uint64_t rows, std::size_t length, std::size_t place, T* elements) {
  if (place < near_end_most) FindFromEnd<false>(x, rows, length, place, elements);
  else FindFromEnd<true>(x, rows, length, length - 1 - place, elements);
}

template <class T>
constexpr ShortRowLoops<T> loops = {&SortShortRows<T>, &SortToColumns<T>, &FindNearEnd<T>, &RankShortRows<T>};
#define MASU_SHORT_ROWS(name, T)          \
  const ShortRowLoops<T>* Loops##name() { \
    return &loops<T>;                     \
  }
MASU_EACH_WIDE_INTEGER(MASU_SHORT_ROWS)
MASU_EACH_WIDE_FLOAT(MASU_SHORT_ROWS)
#undef MASU_SHORT_ROWS

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_SHORT_ROWS(name, T)                 \
  HWY_EXPORT(Loops##name);                       \
  template <>                                    \
  const ShortRowLoops<T>& short_row_loops() {    \
    return *HWY_DYNAMIC_DISPATCH(Loops##name)(); \
  }
MASU_EACH_WIDE_INTEGER(MASU_SHORT_ROWS)
MASU_EACH_WIDE_FLOAT(MASU_SHORT_ROWS)
#undef MASU_SHORT_ROWS

}  // namespace masu::cpu
#endif

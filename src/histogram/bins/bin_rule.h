// SPDX-License-Identifier: Apache-2.0
// Bins made definite for one dtype: every edge, exactly as NumPy >= 2 computes it (numpy/lib/_histograms_impl.py and
// numpy/_core/function_base.py, linspace), and the same edges as thresholds of the dtype.
#pragma once

#include "call/state_bytes.h"
#include "elements/dtypes.h"

#include <masu/dtype.h>
#include <masu/histogram.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu {

// Values that lie in no bin are counted in three slots after the bins.
inline constexpr std::uint64_t slot_below = 0;
inline constexpr std::uint64_t slot_above = 1;
inline constexpr std::uint64_t slot_nan = 2;
inline constexpr std::uint64_t extra_slots = 3;
// After joint bins: points outside of them, points with a NaN.
inline constexpr std::uint64_t joint_extra_bins = 2;

struct BinRule {
  // Throws invalid_argument: too many bins for the range, floats in integers(). `joint`: the bins of a column, as
  // numpy.histogramdd has them: even bins over a given range keep f64 edges whatever the data are, and stored floats
  // are compared with the edges. `outside`: which slots values below and above the bins have.
  MASU_EXPORT BinRule(const Bins& given, Dtype type, bool right_open, bool joint = false,
                      Outside outside = Outside::drop);

  double edge(std::uint64_t i) const noexcept;
  MASU_EXPORT std::vector<double> all_edges() const;
  // The slot of a value of the dtype: a bin, or below(), above() or n + slot_nan.
  std::uint64_t slot(double x) const noexcept;
  // The slots of what lies below and above the bins: slots of their own, or the first and the last bin.
  std::uint64_t below() const noexcept { return clamps ? 0 : n + slot_below; }
  std::uint64_t above() const noexcept { return clamps ? n - 1 : n + slot_above; }
  // The slots of all 65,536 bit patterns of a stored float.
  std::vector<std::uint32_t> half_slots() const;
  bool same_edges(const BinRule& other) const noexcept;
  // The bytes of the bins, and whether the last one is half open.
  void write(call::StateWriter& to) const;
  static std::shared_ptr<const BinRule> read(call::StateReader& from, Dtype dtype, bool joint);
  // "100 bins of f32 from 0 to 1", in messages beside another one: the first inner edge that differs is named too.
  std::string text(const BinRule& other) const;

  Bins bins;  // what it was made of
  Bins::Kind kind;
  Dtype dtype;
  std::uint64_t n;
  bool half_open;  // the last bin does not hold x = e[n]
  bool clamps;     // values outside lie in the outer bins

  // Even bins: e[i] = i * step + lo with two roundings, e[n] = hi; all in the dtype when the range came from data of a
  // float below f64, otherwise in f64 and, for such data, rounded to the dtype at the end.
  Dtype own_dtype;  // of that arithmetic: arithmetic_dtype() of the data's
  double lo = 0;
  double hi = 0;
  double step = 0;
  bool own_edges = false;       // of floats below f64: edges are rounded to the dtype
  bool own_arithmetic = false;  // and computed in it
  bool stored_guess = false;  // values go where NumPy's arithmetic of stored floats puts them, not where a search does
  std::shared_ptr<const std::vector<double>> edges;  // explicit edges

 private:
  void resolve_even(bool joint);
  void check_width() const;
  double own(double x) const noexcept;  // rounded to the dtype
  // What NumPy's arithmetic of stored floats makes of the range and the number of bins.
  struct Halves {
    double lo;
    double width;
    double bins;
  };
  Halves halves() const noexcept;
  // `at(i)` is edge i.
  template <class At>
  std::uint64_t slot_by(double x, const Halves& halves, const At& at) const noexcept;
  template <class At>
  std::uint64_t search(double x, const At& at) const noexcept;
  template <class At>
  std::uint64_t guess(double x, const Halves& halves, const At& at) const noexcept;
};

// x / y as NumPy divides two numbers of the dtype; integers: in f64.
double quotient_in(Dtype dtype, double x, double y) noexcept;

// Elements of a row that is the only one.
inline constexpr std::uint64_t no_row_end = ~std::uint64_t{0};

// Elements of rows that come in order: whole rows, or a part of one.
struct RowPart {
  std::uint64_t row;     // the first one's number
  std::uint64_t rows;    // how many
  std::uint64_t first;   // element
  std::uint64_t length;  // elements of each

  // Calls take(row, first element, elements) for pieces of at most `most` elements, each of one row.
  template <class Take>
  void each_piece(std::uint64_t most, const Take& take) const {
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t done = 0; done < length; done += most) {
        take(row + r, first + r * length + done, std::min(length - done, most));
      }
    }
  }
};
// Calls take(part) for the rest of a row, whole rows and the beginning of a row: `count` elements that come after
// `position` others.
template <class Take>
void each_row(std::uint64_t position, std::uint64_t row_elements, std::uint64_t count, const Take& take) {
  for (RowPart part{}; part.first < count; part.first += part.rows * part.length) {
    const std::uint64_t at = position + part.first;
    const std::uint64_t left = count - part.first;
    part.row = at / row_elements;
    part.length = std::min(left, row_elements - at % row_elements);
    part.rows = part.length == row_elements ? left / row_elements : 1;
    take(part);
  }
}

// How many slots the kernels count for a channel: 256 for 8-bit data, which is counted by its value, else
// rule.n + extra_slots.
std::uint64_t slots_of(const BinRule& rule) noexcept;
// Whether `counted` totals of one channel, slots_of(rule) or those of a device, stand for values, not for slots.
bool counts_by_value(const BinRule& rule, std::uint64_t counted) noexcept;
// The slot of each such value; else empty.
std::vector<std::uint32_t> slots_by_value(const BinRule& rule, std::uint64_t counted);

// n even bins over the range of data, for callers that did not choose n. A range that is too narrow for n bins with a
// width, also of near integers beyond 2^53, is widened. A range that is wider than the greatest number gets explicit
// edges. Where the dtype has fewer than n values, the result is that of Bins::even().
Bins bins_that_hold(std::uint64_t n, const ValueRange& range, Dtype dtype);

// The rules of joint bins, one for each column.
using BinRules = std::span<const std::shared_ptr<const BinRule>>;
bool same_edges(BinRules a, BinRules b) noexcept;
std::string texts_of(BinRules rules, BinRules others);

template <class T>
struct Thresholds;

// The slots of stored floats as thresholds for devices, which convert those to f32 exactly: comparisons in f32 give
// what half_slots() has. Nothing where the slots would not grow with the value; no such bins are known.
std::optional<Thresholds<float>> half_thresholds(const BinRule& rule);

// The least T whose f64 value is >= bound (or > bound); false when there is none.
template <class T>
bool least_reaching(double bound, bool strictly, T& result);

// Both ends of the bins as values of T: x >= e[0] exactly when x >= first, and x <= e[n] (x < e[n] when half open)
// exactly when x <= last. `all_below`, `all_above`: all values of T lie below the bins, or above them.
template <class T>
struct BinLimits {
  explicit BinLimits(const BinRule& rule);
  T first{};
  T last{};
  bool all_below = false;
  bool all_above = false;

 protected:
  BinLimits() = default;
};

// The edges as values of T, so that devices compare in T alone: x >= e[i] exactly when x >= lower[i] (for i below
// lower.size(): bins that start above T's largest value hold nothing). Bins::integers has no `lower`: bin i starts at
// i.
template <class T>
struct Thresholds : BinLimits<T> {
  explicit Thresholds(const BinRule& rule);
  std::vector<T> lower;
  std::uint64_t reachable = 0;  // how many bins some value of T can reach

 private:
  friend std::optional<Thresholds<float>> half_thresholds(const BinRule& rule);
  Thresholds() = default;
};

// The edges of bins of equal ratio, correctly rounded.

// Edge i is lo * (hi / lo)^(i / n), rounded to nearest, for 0 < lo < hi; both ends exact. Edges may be equal where
// there are more of them than numbers. Throws out_of_memory.
std::vector<double> logarithmic_edges(std::uint64_t n, double lo, double hi);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// What --verify and selftest compare with: plain sequential programs that share no code with what they check.
#pragma once

#include "cli/arrays/array_stream.h"
#include "elements/stored_float.h"
#include "histogram/bins/natural.h"
#include "histogram/histogram_reference.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/convert.h>
#include <masu/dtype.h>
#include <masu/quantile.h>
#include <masu/scan.h>
#include <masu/sort.h>
#include <masu/sum.h>
#include <masu/weighted_histogram.h>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

// Whether a comes before b: NaNs after all else, -0 equal to +0; all reversed where the order is descending.
template <class T>
bool comes_before(T a, T b, Order order = Order::ascending) {
  if (order == Order::descending) return comes_before(b, a);
  if constexpr (is_stored<T>) return comes_before(to_double(a), to_double(b));
  else if constexpr (std::floating_point<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  else return a < b;
}

// Where the elements in order are in the data; each of `rows` equal rows by itself, the places counted from the start
// of the data.
std::vector<std::uint64_t> reference_order(const ArrayView& data, Order order, std::uint64_t rows = 1);
// The same of each segment from one of the bounds to the next; what lies outside stays where it is.
std::vector<std::uint64_t> reference_order(const ArrayView& data, Order order, std::span<const std::uint64_t> bounds);

// The first `k` of these, NaNs left out where that is asked.
std::vector<std::uint64_t> reference_topk(const ArrayView& data, Order order, bool skip_nan, std::uint64_t k);

// The distinct values in order: where each is first in the data, and how often it occurs.
struct ReferenceRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
std::vector<ReferenceRun> reference_unique(const ArrayView& data);

// The bytes of an element.
const std::byte* element_at(const ArrayView& data, std::uint64_t index);
// Whether two elements of the same dtype have the same bits.
bool same_bits(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j);
// Whether the one comes before the other; whether they are two values.
bool precedes(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j);
bool differ(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j);

// Where each value goes in what is in order: before what is equal to it, or after.
std::vector<std::uint64_t> reference_search(const ArrayView& sorted, const ArrayView& values, bool after);

// Quantiles of data that std::stable_sort brought into order, for --verify and selftest.

std::vector<Quantile> reference_quantiles(const ArrayView& data, std::span<const double> q, QuantileMethod method);
// The bits of an element as results have it: +0 for a zero, the quiet NaN for a NaN.
std::uint64_t plain_bits(const ArrayView& data, std::uint64_t index);

// Exact sums, dots and moments by arithmetic on big integers as on paper.

// The exact sum of values and of products of two; each result is rounded once.
class ReferenceSum {
 public:
  // Element i of the array, or the product of two elements.
  void add(const ArrayView& data, std::uint64_t i);
  void add_product(const ArrayView& x, std::uint64_t i, const ArrayView& y, std::uint64_t j);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  // Rounded to nearest, ties to even, to a dtype of floats.
  [[nodiscard]] double sum(Dtype to) const;
  [[nodiscard]] double mean(Dtype to) const;
  // The square root of the sum.
  [[nodiscard]] double root(Dtype to) const;
  // This is the sum of the values, `squares` that of their squares.
  [[nodiscard]] double variance(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const;
  [[nodiscard]] double standard_deviation(const ReferenceSum& squares, std::uint64_t ddof, Dtype to) const;
  // The sum of integers in 64 bits with or without a sign; false where it does not fit.
  bool integer(bool with_sign, std::uint64_t& bits) const;

 private:
  void add_infinity(bool negative);
  // What infinities and NaNs make of the sum; true where there are any.
  bool special(double& result) const;
  // The variance of finite values in units of 2^(2 unit - bits), rounded down; `more` tells that something is below it.
  [[nodiscard]] Natural variance_in_bits(const ReferenceSum& squares, std::uint64_t ddof, unsigned bits,
                                         bool& more) const;
  // The sum without its sign, and the sign.
  [[nodiscard]] Natural magnitude(bool& negative) const;

  Natural positive_;  // in units of 2^unit
  Natural negative_;
  std::uint64_t count_ = 0;
  bool nan_ = false;
  bool positive_infinity_ = false;
  bool negative_infinity_ = false;
};

// What masu reduce finds: several operations on all of the data, or on each of its rows.
struct ReduceRequest {
  std::vector<std::string> ops;
  Dtype result = Dtype::f64;
  std::uint64_t ddof = 0;
  std::uint64_t rows = 1;
  std::optional<std::uint64_t> row_length;  // where rows were asked for
  std::uint64_t memory = 0;
};

// One column for each operation, with an element for each row.
std::vector<Column> reference_reduce(const ArrayView& data, const ReduceRequest& request);

// Scans element by element, for --verify and selftest: it shares no code with what it checks.
class ReferenceScan {
 public:
  ReferenceScan(Dtype dtype, ScanOp op, bool exclusive) : dtype_(dtype), op_(op), exclusive_(exclusive) {}
  // The bits of the result at the next element, which is element i of the data.
  std::uint64_t next(const ArrayView& data, std::uint64_t i);

 private:
  [[nodiscard]] std::uint64_t value() const;
  void take(const ArrayView& data, std::uint64_t i);

  Dtype dtype_;
  ScanOp op_;
  bool exclusive_;
  bool empty_ = true;
  std::uint64_t bits_ = 0;  // of the extreme, or of the sum of integers
  ReferenceSum sum_;        // of floats
};

// Converting one element at a time, for --verify and selftest: it shares no code with what it checks.

// The bits of element i as `to`; false, and nothing, where it does not fit and that is an error.
bool reference_convert(const ArrayView& data, std::uint64_t i, Dtype to, Overflow overflow, Rounding rounding,
                       std::uint64_t& bits);

// What --verify compares with.

// `where` says what was counted: an input, with its channel or row.
inline void check_count(const std::string& where, std::string_view what, std::uint64_t got, std::uint64_t expected) {
  if (got == expected) return;
  differs("{}, {}: counted {}, the reference counted {}", where, what, got, expected);
}

// Where a plain loop puts points: into one of the joint bins, or after these: below (of several columns: outside),
// above, NaN.
struct ReferenceSlots {
  ReferenceSlots() = default;
  // `joint`: the bins are those of a joint histogram's columns.
  ReferenceSlots(Dtype dtype, std::span<const Bins> bins, bool right_open, Outside outside, bool joint);

  std::vector<std::vector<double>> edges;  // of each column
  std::vector<bool> half_open;             // whether its last bin lacks its upper edge
  Outside outside = Outside::drop;
  std::optional<reference::HalfEven> half;  // of one column of stored floats

  [[nodiscard]] std::size_t joint_bins() const;
  // Calls take(slot) for each point of the columns, or of all of them interleaved in one.
  void each(std::span<const ArrayView> columns, const std::function<void(std::size_t)>& take) const;

 private:
  [[nodiscard]] std::size_t slot_of(std::span<const double> point) const;
};

// What a plain loop puts into the slots of each block of values: of each channel, or of each row and channel.
template <class Cell>
class SlotReference {
 public:
  // `row_values`: values or points of a row, all channels together; 0: all are one row.
  SlotReference(ReferenceSlots slots, std::uint64_t rows, std::uint64_t row_values, unsigned channels)
      : slots_(std::move(slots)),
        row_values_(row_values),
        channels_(channels),
        size_(slots_.joint_bins() + 3),
        cells_(size_ * rows * channels) {}
  // Calls put(cell) for each point of the columns, or of all of them interleaved in one.
  template <class Put>
  void add(std::span<const ArrayView> columns, const Put& put) {
    slots_.each(columns, [&](std::size_t slot) {
      const std::uint64_t row = row_values_ == 0 ? 0 : position_ / row_values_;
      put(cells_[(row * channels_ + position_++ % channels_) * size_ + slot]);
    });
  }
  [[nodiscard]] std::uint64_t blocks() const { return cells_.size() / size_; }
  // The bins, and what lies below or outside, above, and NaNs.
  [[nodiscard]] std::span<const Cell> block(std::uint64_t i) const {
    return std::span(cells_).subspan(i * size_, size_);
  }

 private:
  ReferenceSlots slots_;
  std::uint64_t row_values_;
  unsigned channels_;
  std::size_t size_;
  std::vector<Cell> cells_;
  std::uint64_t position_ = 0;
};

}  // namespace masu::cli

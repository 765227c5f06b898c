// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/references.h"
#include "quantile/quantile_rule.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

namespace masu::cli {

const std::byte* element_at(const ArrayView& data, std::uint64_t index) {
  return static_cast<const std::byte*>(data.data) + index * size_of(data.dtype);
}

bool same_bits(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return std::memcmp(element_at(a, i), element_at(b, j), size_of(a.dtype)) == 0;
}

bool precedes(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return dispatch(a.dtype, [&]<class T>(TypeTag<T>) {
    return comes_before(static_cast<const T*>(a.data)[i], static_cast<const T*>(b.data)[j]);
  });
}

bool differ(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return precedes(a, i, b, j) || precedes(b, j, a, i);
}

std::vector<std::uint64_t> reference_search(const ArrayView& sorted, const ArrayView& values, bool after) {
  std::vector<std::uint64_t> places(values.count);
  for (std::uint64_t i = 0; i < values.count; ++i) {
    std::uint64_t end = sorted.count;
    while (places[i] < end) {
      const std::uint64_t middle = places[i] + (end - places[i]) / 2;
      const bool above = after ? !precedes(values, i, sorted, middle) : precedes(sorted, middle, values, i);
      if (above) places[i] = middle + 1;
      else end = middle;
    }
  }
  return places;
}

std::vector<std::uint64_t> reference_order(const ArrayView& data, Order order, std::uint64_t rows) {
  std::vector<std::uint64_t> bounds;
  for (std::uint64_t row = 0; row <= rows; ++row) bounds.push_back(data.count / rows * row);
  return reference_order(data, order, bounds);
}

std::vector<std::uint64_t> reference_order(const ArrayView& data, Order order, std::span<const std::uint64_t> bounds) {
  std::vector<std::uint64_t> places(data.count);
  std::iota(places.begin(), places.end(), 0);
  dispatch(data.dtype, [&](auto tag) {
    const auto* values = static_cast<const typename decltype(tag)::type*>(data.data);
    for (std::size_t i = 1; i < bounds.size(); ++i) {
      std::stable_sort(places.begin() + static_cast<std::ptrdiff_t>(bounds[i - 1]),
                       places.begin() + static_cast<std::ptrdiff_t>(bounds[i]),
                       [&](std::uint64_t a, std::uint64_t b) { return comes_before(values[a], values[b], order); });
    }
  });
  return places;
}

std::vector<std::uint64_t> reference_topk(const ArrayView& data, Order order, bool skip_nan, std::uint64_t k) {
  std::vector<std::uint64_t> places = reference_order(data, order);
  if (skip_nan) std::erase_if(places, [&](std::uint64_t i) { return is_nan(data, i); });
  places.resize(std::min<std::uint64_t>(k, places.size()));
  return places;
}

std::vector<ReferenceRun> reference_unique(const ArrayView& data) {
  std::vector<ReferenceRun> runs;
  const std::vector<std::uint64_t> places = reference_order(data, Order::ascending);
  dispatch(data.dtype, [&](auto tag) {
    const auto* values = static_cast<const typename decltype(tag)::type*>(data.data);
    for (const std::uint64_t place : places) {
      if (runs.empty() || comes_before(values[runs.back().first], values[place])) runs.push_back({place, 0});
      ++runs.back().count;
    }
  });
  return runs;
}

std::uint64_t plain_bits(const ArrayView& data, std::uint64_t index) {
  if (!is_float(data.dtype)) return bits_of(data, index);
  const double value = number_at(data, index);
  if (std::isnan(value)) return bits_of(std::numeric_limits<double>::quiet_NaN(), data.dtype);
  return value == 0 ? 0 : bits_of(data, index);
}

std::vector<Quantile> reference_quantiles(const ArrayView& data, std::span<const double> q, QuantileMethod method) {
  const std::vector<std::uint64_t> order = reference_order(data, Order::ascending);
  const bool any_nan = is_nan(data, order.back());
  std::vector<Quantile> result;
  for (const double one : q) {
    QuantilePlace place = quantile_place(method, data.count, one);
    if (any_nan) place = {data.count - 1, data.count - 1, 0, place.is_element};
    result.push_back(
        quantile_at(data.dtype, place, plain_bits(data, order[place.previous]), plain_bits(data, order[place.next])));
  }
  return result;
}

// Scans and conversions, element by element.

namespace {

// What no element goes beyond.
std::uint64_t identity_bits(Dtype dtype, ScanOp op) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) -> std::uint64_t {
    const bool greatest = op == ScanOp::min;
    if (op == ScanOp::sum) return 0;
    if constexpr (std::integral<T>) {
      const T value = greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
    } else {
      const double infinity = std::numeric_limits<double>::infinity();
      return bits_of(greatest ? infinity : -infinity, dtype_of<T>);
    }
  });
}

}  // namespace

void ReferenceScan::take(const ArrayView& data, std::uint64_t i) {
  if (op_ == ScanOp::sum) {
    if (is_float(dtype_)) sum_.add(data, i);
    else bits_ += bits_of(data, i);
  } else {
    const ArrayView so_far(dtype_, &bits_, 1);
    const bool beyond = op_ == ScanOp::min ? precedes(data, i, so_far, 0) : precedes(so_far, 0, data, i);
    if (empty_ || (!is_nan(so_far, 0) && (is_nan(data, i) || beyond))) bits_ = bits_of(data, i);
  }
  empty_ = false;
}

std::uint64_t ReferenceScan::value() const {
  if (empty_) return identity_bits(dtype_, op_);
  if (op_ == ScanOp::sum && is_float(dtype_)) return bits_of(sum_.sum(dtype_), dtype_);
  const unsigned bits = 8 * static_cast<unsigned>(size_of(dtype_));
  return bits == 64 ? bits_ : bits_ & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t ReferenceScan::next(const ArrayView& data, std::uint64_t i) {
  const std::uint64_t before = exclusive_ ? value() : 0;
  take(data, i);
  return exclusive_ ? before : value();
}

}  // namespace masu::cli

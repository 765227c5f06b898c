// SPDX-License-Identifier: Apache-2.0
// The order of values by comparisons and std::stable_sort alone, for --verify and selftest: it shares no code with what
// it checks.
#pragma once

#include "runtime/half.h"

#include <masu/quantile.h>
#include <masu/sort.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace masu::cli {

// Whether a comes before b: NaNs after all else, -0 equal to +0; all reversed where the order is descending.
template <class T>
bool comes_before(T a, T b, Order order = Order::ascending) {
  if (order == Order::descending) return comes_before(b, a);
  if constexpr (std::same_as<T, Half>) return comes_before(runtime::to_double(a), runtime::to_double(b));
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

// Where each value goes in what is in order: in front of what is equal to it, or behind.
std::vector<std::uint64_t> reference_search(const ArrayView& sorted, const ArrayView& values, bool behind);

// Quantiles of data that std::stable_sort brought into order, for --verify and selftest.

std::vector<Quantile> reference_quantiles(const ArrayView& data, std::span<const double> q, QuantileMethod method);
// The bits of an element as results have it: +0 for a zero, the quiet NaN for a NaN.
std::uint64_t plain_bits(const ArrayView& data, std::uint64_t index);

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/references.h"

#include "quantile/quantile_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

namespace masu::cli {

const std::byte* element_at(const ArrayView& data, std::uint64_t index) {
  return static_cast<const std::byte*>(data.data) + index * size_of(data.dtype);
}

bool same_bits(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return std::memcmp(element_at(a, i), element_at(b, j), size_of(a.dtype)) == 0;
}

bool precedes(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return dispatch(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return comes_before(static_cast<const T*>(a.data)[i], static_cast<const T*>(b.data)[j]);
  });
}

bool differ(const ArrayView& a, std::uint64_t i, const ArrayView& b, std::uint64_t j) {
  return precedes(a, i, b, j) || precedes(b, j, a, i);
}

std::vector<std::uint64_t> reference_search(const ArrayView& sorted, const ArrayView& values, bool behind) {
  std::vector<std::uint64_t> places(values.count);
  for (std::uint64_t i = 0; i < values.count; ++i) {
    std::uint64_t end = sorted.count;
    while (places[i] < end) {
      const std::uint64_t middle = places[i] + (end - places[i]) / 2;
      const bool above = behind ? !precedes(values, i, sorted, middle) : precedes(sorted, middle, values, i);
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
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* values = static_cast<const T*>(data.data);
    if constexpr (!std::integral<T>) {
      const auto is_nan = [&](std::uint64_t i) {
        if constexpr (std::same_as<T, Half>) return std::isnan(runtime::to_double(values[i]));
        else return std::isnan(values[i]);
      };
      if (skip_nan) std::erase_if(places, is_nan);
    }
  });
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

namespace {

constexpr std::uint16_t nan_of_f16 = 0x7e00;

template <class T>
bool is_not_number(T value) {
  if constexpr (std::integral<T>) return false;
  else if constexpr (std::same_as<T, Half>) return std::isnan(runtime::to_double(value));
  else return std::isnan(value);
}

template <class T>
T plain(T value) {
  if constexpr (std::same_as<T, Half>) {
    if (is_not_number(value)) return std::bit_cast<Half>(nan_of_f16);
    return runtime::to_double(value) == 0 ? Half{} : value;
  } else if constexpr (std::integral<T>) {
    return value;
  } else {
    if (is_not_number(value)) return std::numeric_limits<T>::quiet_NaN();
    return value == 0 ? T{0} : value;
  }
}

}  // namespace

std::uint64_t plain_bits(const ArrayView& data, std::uint64_t index) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = plain(static_cast<const T*>(data.data)[index]);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  });
}

std::vector<Quantile> reference_quantiles(const ArrayView& data, std::span<const double> q, QuantileMethod method) {
  const std::vector<std::uint64_t> order = reference_order(data, Order::ascending);
  const bool any_nan = dispatch(data.dtype, [&](auto tag) {
    return is_not_number(static_cast<const typename decltype(tag)::type*>(data.data)[order.back()]);
  });
  std::vector<Quantile> result;
  for (const double one : q) {
    QuantilePlace place = quantile_place(method, data.count, one);
    if (any_nan) place = {data.count - 1, data.count - 1, 0, place.is_element};
    result.push_back(
        quantile_at(data.dtype, place, plain_bits(data, order[place.previous]), plain_bits(data, order[place.next])));
  }
  return result;
}

}  // namespace masu::cli

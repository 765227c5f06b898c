// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/reference_quantile.h"

#include "cli/selftest/reference_order.h"
#include "quantile/quantile_rule.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace masu::cli {
namespace {

constexpr std::uint16_t nan_of_f16 = 0x7e00;

template <class T>
bool is_not_number(T value) {
  if constexpr (std::integral<T>) return false;
  else if constexpr (std::same_as<T, Half>) return std::isnan(io::to_double(value));
  else return std::isnan(value);
}

template <class T>
T plain(T value) {
  if constexpr (std::same_as<T, Half>) {
    if (is_not_number(value)) return std::bit_cast<Half>(nan_of_f16);
    return io::to_double(value) == 0 ? Half{} : value;
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

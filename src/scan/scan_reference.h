// SPDX-License-Identifier: Apache-2.0
// A plain scan, which everything is compared with. Shares no code with the fast ones.
#pragma once

#include "elements/stored_float.h"
#include "unique/unique_reference.h"

#include <masu/scan.h>
#include <masu/sum.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace masu::reference {

template <class T>
struct PlainState {
  T extreme{};
  ExactSum sum;
  std::uint64_t bits = 0;

  explicit PlainState(ScanOp op) {
    if (op == ScanOp::sum) return;
    const bool least = op == ScanOp::min;
    if constexpr (is_stored<T>) {
      extreme = T{static_cast<std::uint16_t>(infinity_bits<T> | (least ? 0 : 0x8000))};
    } else if constexpr (std::is_floating_point_v<T>) {
      extreme = least ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    } else {
      extreme = least ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    }
  }
  void take(T x, ScanOp op) {
    if (op == ScanOp::sum) {
      if constexpr (std::is_integral_v<T>) {
        bits += static_cast<std::uint64_t>(x);
      } else {
        sum.add(static_cast<double>(number(x)));
      }
      return;
    }
    if constexpr (!std::is_integral_v<T>) {
      if (std::isnan(number(extreme))) return;
      if (std::isnan(number(x))) {
        extreme = x;
        return;
      }
    }
    if (op == ScanOp::min ? number(x) < number(extreme) : number(x) > number(extreme)) extreme = x;
  }
  // Without rounding twice: a sum that ExactSum rounded to f64 decides, but where it lies half way between two T what
  // it was rounded from does.
  [[nodiscard]] T value(ScanOp op) const {
    if (op != ScanOp::sum) return extreme;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits);
    } else if constexpr (std::is_same_v<T, double>) {
      return sum.sum();
    } else {
      const double first = sum.sum();
      if (!std::isfinite(first)) return narrow(first);
      ExactSum rest = sum;
      rest.add(-first);
      const double error = rest.sum();
      // Round to odd: an inexact f64 whose last bit is even goes to its neighbour on the side of the error.
      const auto pattern = std::bit_cast<std::uint64_t>(first);
      if (error == 0 || (pattern & 1U) != 0) return narrow(first);
      return narrow(std::nextafter(first, error > 0 ? INFINITY : -INFINITY));
    }
  }
  static T narrow(double x) { return rounded_to<T>(std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x); }
};

template <class T>
std::vector<T> scan(const std::vector<T>& data, ScanOp op, bool exclusive, std::uint64_t rows = 1,
                    const std::vector<std::uint8_t>& flags = {}) {
  std::vector<T> result(data.size());
  PlainState<T> state(op);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i % (data.size() / rows) == 0 || (!flags.empty() && flags[i] != 0)) state = PlainState<T>(op);
    if (exclusive) result[i] = state.value(op);
    state.take(data[i], op);
    if (!exclusive) result[i] = state.value(op);
  }
  return result;
}

}  // namespace masu::reference

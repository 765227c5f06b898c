// SPDX-License-Identifier: Apache-2.0
// Points of quantiles as Python tells them.
#pragma once

#include "arrays.h"

#include <masu/quantile.h>

#include <vector>

namespace masu_python {

// From arrays of int64, int64, float64 and uint8.
inline std::vector<masu::QuantilePoint> points_of(nb::handle first, nb::handle second, nb::handle weights,
                                                  nb::handle kinds) {
  const Input previous(first);
  const Input next(second);
  const Input weight(weights);
  const Input kind(kinds);
  std::vector<masu::QuantilePoint> points;
  for (std::uint64_t i = 0; i < kind.count(); ++i) {
    points.push_back({static_cast<std::uint64_t>(previous.data<std::int64_t>()[i]),
                      static_cast<std::uint64_t>(next.data<std::int64_t>()[i]), weight.data<double>()[i],
                      static_cast<masu::QuantilePoint::Kind>(kind.data<std::uint8_t>()[i])});
  }
  return points;
}

}  // namespace masu_python

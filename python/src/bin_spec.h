// SPDX-License-Identifier: Apache-2.0
// Bins that Python has made definite.
#pragma once

#include "arrays.h"
#include "module.h"

#include <masu/histogram.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace masu_python {

// The bins of one column, as python/masu/_bins.py has them: (origin, lo, hi, edges).
struct Spec {
  enum Origin { between_edges, given_range, data_range, integers };  // as in _bins.py

  explicit Spec(nb::handle tuple)
      : origin(static_cast<Origin>(nb::cast<int>(tuple[0]))),
        lo(nb::cast<double>(tuple[1])),
        hi(nb::cast<double>(tuple[2])) {
    if (origin != integers) edges = std::make_unique<Input>(tuple[3]);
  }
  [[nodiscard]] std::span<const double> numbers() const { return {edges->data<double>(), edges->count()}; }
  [[nodiscard]] bool even() const noexcept { return origin == given_range || origin == data_range; }
  [[nodiscard]] masu::Bins given() const {
    if (origin == integers) return masu::Bins::integers(static_cast<std::uint64_t>(hi));
    return masu::Bins::edges({numbers().begin(), numbers().end()});
  }
  // The bins as the library finds them by itself.
  [[nodiscard]] masu::Bins own() const {
    if (origin == given_range) return masu::Bins::even(numbers().size() - 1, lo, hi);
    if (origin == data_range) return masu::Bins::even(numbers().size() - 1, masu::ValueRange{lo, hi, false});
    return given();
  }

  Origin origin;
  double lo;
  double hi;
  std::unique_ptr<Input> edges;
};

// Whether the library's own even bins have the edges that NumPy has.
inline bool same_edges(const Spec& spec, masu::Dtype dtype) {
  try {
    return std::ranges::equal(masu::bin_edges(spec.own(), dtype), spec.numbers());
  } catch (const masu::Error& error) {
    if (error.code() != masu::ErrorCode::invalid_argument) throw;
    return false;
  }
}

}  // namespace masu_python

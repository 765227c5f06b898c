// SPDX-License-Identifier: Apache-2.0
// Which elements quantiles are made of, and how.
#pragma once

#include "quantile/quantile_rule.h"

#include <masu/quantile.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace masu {

// Throws invalid_argument for a q that is not within 0 … 1.
void check_quantiles(std::span<const double> q);

// The quantiles of n elements, by the keys at places() of them.
class Quantiles {
 public:
  Quantiles(Dtype dtype, QuantileMethod method, std::uint64_t n, std::span<const double> q);
  [[nodiscard]] std::span<const std::uint64_t> places() const noexcept { return places_; }
  // The last of them is there only since NaN stands there, if there is any.
  [[nodiscard]] bool last_is_for_nan() const noexcept { return last_is_for_nan_; }
  // `key(i)`: of places()[i].
  void append(const std::function<std::uint64_t(std::size_t)>& key, std::vector<Quantile>& result) const;

 private:
  Dtype dtype_;
  std::vector<QuantilePlace> wanted_;
  std::vector<std::uint64_t> places_;
  bool last_is_for_nan_ = false;
};

}  // namespace masu

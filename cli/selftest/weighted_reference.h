// SPDX-License-Identifier: Apache-2.0
// What --verify compares weighted histograms with: a plain loop with an exact sum for each bin.
#pragma once

#include <masu/exact_sum.h>
#include <masu/weighted_histogram.h>

#include "histogram/histogram_reference.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

// Element `first` and every `stride`th one behind it.
std::vector<std::byte> every(const ArrayView& data, std::size_t first, std::size_t stride);

class WeightedReference {
 public:
  WeightedReference(Dtype dtype, std::span<const Bins> bins, const WeightedOptions& options,
                    std::uint64_t row_elements);
  // The columns, or all of them interleaved in one.
  void add(std::span<const ArrayView> columns, const ArrayView& weights);
  // Throws Differs where a total is another one.
  void compare(const std::string& name, const WeightedHistogram& found) const;

 private:
  [[nodiscard]] std::size_t slot_of(std::span<const double> point) const;

  WeightedOptions options_;
  std::uint64_t row_elements_;
  std::vector<std::vector<double>> edges_;
  std::vector<bool> half_open_;
  std::optional<reference::HalfEven> half_;
  std::size_t cells_ = 1;
  std::vector<ExactSum> sums_;
  std::uint64_t position_ = 0;
};

}  // namespace masu::cli

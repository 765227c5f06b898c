// SPDX-License-Identifier: Apache-2.0
// What the functions and the accumulator of weighted histograms check alike.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/weighted_sums.h"

#include <masu/error.h>
#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu {

inline constexpr std::size_t most_weighted_columns = 8;
inline constexpr std::string_view weighted_name = "weighted_histogram";

[[noreturn]] inline void weighted_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", weighted_name, message));
}

inline void check_weighted_columns(std::size_t expected, std::size_t got) {
  if (expected != got) {
    weighted_invalid(fmt::format("there must be {} columns, one for each of the bins, got {}", expected, got));
  }
}

inline void check_count(std::size_t columns) {
  if (columns < 1 || columns > most_weighted_columns) {
    weighted_invalid(fmt::format("columns must be 1 to {}, got {}", most_weighted_columns, columns));
  }
}

inline void check_weighted_lengths(std::uint64_t elements, std::uint64_t weights) {
  if (elements != weights) {
    weighted_invalid(
        fmt::format("there must be a weight for each element, got {} elements and {} weights", elements, weights));
  }
}

// Elements of a row.
inline std::uint64_t weighted_row_elements(std::uint64_t count, const WeightedOptions& options) {
  if (options.rows != 0 && count % options.rows != 0) {
    weighted_invalid(fmt::format("{} rows must divide the elements, got {}", options.rows, count));
  }
  return options.rows == 0 ? 0 : count / options.rows;
}

// What the arguments of a weighted histogram make definite. Throws for those that are out of the limits.
struct WeightedShape {
  WeightedShape(Dtype dtype, Dtype of_weights, std::span<const Bins> bins, const WeightedOptions& options,
                std::uint64_t elements);
  // Throws: the integer total of a slot of a row does not fit.
  [[noreturn]] void refuse_total(std::uint64_t row, std::uint64_t slot) const;
  // Without totals.
  [[nodiscard]] WeightedHistogram empty(std::uint64_t n) const;
  [[nodiscard]] WeightedHistogram of(std::uint64_t n, std::span<const double> totals, std::span<const double> variances,
                                     std::span<const std::uint64_t> integers) const;

  Dtype weights_dtype;
  std::uint64_t rows;
  std::uint64_t row_elements;  // a single row has no end
  std::vector<std::shared_ptr<const BinRule>> rules;
  std::uint64_t joint_bins = 1;       // of a row
  std::uint64_t slots = 0;            // with those behind them
  std::vector<WeightFormat> formats;  // the weights, their squares
};

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Weighted histograms of every kind have one shape, from which accumulators, prepared bins and results are made.
#pragma once

#include "histogram/counts.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/weighted_sums.h"

#include <masu/weighted_histogram.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

inline constexpr std::string_view weighted_name = "weighted_histogram";

// Throws unless a piece has weights of the dtype that was named before.
void check_weights(Dtype expected, Dtype got);
void check_weighted_lengths(std::uint64_t elements, std::uint64_t weights);
// Elements of a row.
std::uint64_t weighted_row_elements(std::uint64_t count, const WeightedOptions& options);

// What the arguments of a weighted histogram make definite. Throws for those that are out of the limits.
struct WeightedShape {
  WeightedShape(Dtype dtype, Dtype of_weights, std::span<const Bins> bins, const WeightedOptions& given,
                std::uint64_t elements);
  [[nodiscard]] Dtype dtype() const noexcept { return rules.front()->dtype; }
  [[nodiscard]] bool whole() const noexcept { return !is_float(weights_dtype); }
  [[nodiscard]] std::uint64_t numbers() const noexcept { return slots * options.rows; }
  // Throws: integer total number i does not fit.
  [[noreturn]] void refuse_total(std::uint64_t i) const;
  // `integers`: exact totals modulo 2^64, or none.
  [[nodiscard]] WeightedHistogram of(std::uint64_t n, std::vector<double> totals, std::vector<double> variances,
                                     const std::vector<std::uint64_t>& integers) const;

  WeightedOptions options;
  Dtype weights_dtype;
  std::uint64_t row_elements;  // a single row has no end
  std::vector<std::shared_ptr<const BinRule>> rules;
  std::uint64_t joint_bins = 1;       // of a row
  std::uint64_t slots = 0;            // of a row: the joint bins, and those after them
  std::vector<WeightFormat> formats;  // the weights, their squares
};

// Sums what comes in pieces.
struct WeightedState : WeightedShape, AccumulatorState {
  std::vector<WeightSums> sums{};            // on the CPU; for a device, what was merged
  const WeightedKernels* kernels = nullptr;  // of the counter
  std::uint64_t n = 0;                       // elements, with those that were merged
  std::uint64_t position = 0;                // elements that were added to this state

  WeightedState(WeightedShape shape, const Device& on);
  [[nodiscard]] std::uint64_t sums_bytes() const;
  [[nodiscard]] std::vector<WeightSums> zeros() const;
  // Checks the elements and their weights, and returns how many there are.
  [[nodiscard]] std::uint64_t check(const Columns& columns, Dtype of_weights, std::uint64_t weights,
                                    const Stream* stream) const;
  // Adds elements that have been checked, in three steps for the caller that has points.
  void add(const Columns& data, std::uint64_t elements, Stream* stream = nullptr);
  void make_sums();
  void advance(std::uint64_t elements);
  // All sums, with carries moved on.
  [[nodiscard]] std::vector<WeightSums> collect() const;
};

}  // namespace masu

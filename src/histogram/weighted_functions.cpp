// SPDX-License-Identifier: Apache-2.0
// Weighted histograms of data that is all there.
#include "histogram/bins/definite_bins.h"
#include "histogram/weighted_checks.h"

#include <masu/weighted_histogram.h>

#include <vector>

namespace masu {

WeightedHistogram weighted_histogram(const Device& device, const ArrayView& data, const ArrayView& weights,
                                     const Bins& bins, const WeightedOptions& options) {
  check_weighted_lengths(data.count, weights.count);
  WeightedHistogramAccumulator accumulator(device, data.dtype, weights.dtype, definite_bins(device, data, bins),
                                           options, weighted_row_elements(data.count, options));
  return accumulator.result_of({&data, 1}, weights);
}

WeightedHistogram weighted_histogram(const BufferBase& data, Dtype dtype, const BufferBase& weights,
                                     Dtype weights_dtype, const Bins& bins, const WeightedOptions& options) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  check_weighted_lengths(count, weights.size_bytes() / size_of(weights_dtype));
  WeightedHistogramAccumulator accumulator(data.device(), dtype, weights_dtype, definite_bins(data, dtype, bins),
                                           options, weighted_row_elements(count, options));
  accumulator.add_buffer(data, dtype, weights, weights_dtype);
  return accumulator.result();
}

WeightedHistogram weighted_joint_histogram(const Device& device, std::span<const ArrayView> columns,
                                           const ArrayView& weights, std::span<const Bins> bins,
                                           const WeightedOptions& options) {
  check_count(columns.size());
  check_weighted_columns(bins.size(), columns.size());
  check_weighted_lengths(columns.front().count, weights.count);
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(device, columns[d], bins[d]));
  WeightedHistogramAccumulator accumulator(device, columns.front().dtype, weights.dtype, definite, options,
                                           weighted_row_elements(weights.count, options));
  return accumulator.result_of(columns, weights);
}

WeightedHistogram weighted_joint_histogram(std::span<const BufferBase* const> columns, Dtype dtype,
                                           const BufferBase& weights, Dtype weights_dtype, std::span<const Bins> bins,
                                           const WeightedOptions& options) {
  check_count(columns.size());
  check_weighted_columns(bins.size(), columns.size());
  const std::uint64_t count = columns.front()->size_bytes() / size_of(dtype);
  check_weighted_lengths(count, weights.size_bytes() / size_of(weights_dtype));
  std::vector<Bins> definite;
  for (std::size_t d = 0; d < bins.size(); ++d) definite.push_back(definite_bins(*columns[d], dtype, bins[d]));
  WeightedHistogramAccumulator accumulator(columns.front()->device(), dtype, weights_dtype, definite, options,
                                           weighted_row_elements(count, options));
  accumulator.add_buffers(columns, dtype, weights, weights_dtype);
  return accumulator.result();
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Summing weights by slots on a device, through the runtime's interface.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/device/weighted_histogram_plan.h"
#include "histogram/weighted_sums.h"

#include <masu/weighted_histogram.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace masu {

class DeviceWeightedCounter {
 public:
  // `formats`: what is summed, the weights and perhaps their squares. Rows of `row_elements` elements each.
  DeviceWeightedCounter(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                        std::span<const WeightFormat> formats, const WeightedOptions& options,
                        std::uint64_t row_elements);
  // With a plan for another device. For tests.
  DeviceWeightedCounter(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                        std::span<const WeightFormat> formats, const WeightedOptions& options,
                        std::uint64_t row_elements, const std::optional<weighted_plan::Trial>& trial);
  ~DeviceWeightedCounter();
  DeviceWeightedCounter(const DeviceWeightedCounter&) = delete;
  DeviceWeightedCounter& operator=(const DeviceWeightedCounter&) = delete;

  // Adds the next elements, no more than the rows have: columns and weights of the same length.
  void add(std::span<const ArrayView> columns, const ArrayView& weights);
  // Adds `count` elements of device memory; on `stream` it returns at once, otherwise when they are summed.
  void add(std::span<const BufferBase* const> columns, const BufferBase& weights, std::uint64_t count, Stream* stream);
  // Adds the sums so far to `sums`, one entry for each format with the slots of the rules, row by row. Waits.
  void collect(std::span<WeightSums> sums) const;
  [[nodiscard]] Times times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace masu

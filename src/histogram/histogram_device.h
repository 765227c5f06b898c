// SPDX-License-Identifier: Apache-2.0
// Counting on an OpenCL or CUDA device: uploads the thresholds once, launches the planned kernel, reads the totals
// back.
#pragma once

#include "histogram/bin_rule.h"
#include "histogram/histogram_plan.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace masu {

class DeviceCounter {
 public:
  DeviceCounter(Device device, const BinRule& rule, unsigned channels, const histogram_plan::Plan& plan);
  ~DeviceCounter();
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;

  // Counts host data, piece by piece through one staging buffer; returns when it is counted.
  void add(const ArrayView& data);
  // Counts device memory; on `stream` it returns at once, otherwise when it is counted.
  void add(const BufferBase& data, std::uint64_t count, Stream* stream);
  // slots_of(rule) totals for each channel. Waits.
  [[nodiscard]] std::vector<std::uint64_t> totals() const;
  [[nodiscard]] HistogramTimes times() const;
  [[nodiscard]] Strategy strategy() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data);
std::optional<ValueRange> device_finite_range(const BufferBase& data, Dtype dtype);

}  // namespace masu

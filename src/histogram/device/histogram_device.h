// SPDX-License-Identifier: Apache-2.0
// Counting on an OpenCL or CUDA device what comes in pieces: totals that stay there, host data through staging buffers,
// copies beside kernels.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/device/slot_kernels.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu {

class DeviceCounter {
 public:
  // Makes the kernels, whose tables come to the device as it is told.
  using Make = std::function<std::unique_ptr<SlotKernels>(const TableUpload&)>;
  // `staging`: most bytes of staging memory, 0: what suits the device. `workspace`: temporary memory of the kernels, or
  // null.
  DeviceCounter(const Device& device, const Make& make, std::uint64_t staging, const BufferBase* workspace = nullptr);
  ~DeviceCounter();
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;

  // Counts the next elements in host memory, arrays of one length: whole pixels. Page-locked memory may be reused when
  // it returns, as other memory may.
  void add(std::span<const ArrayView> arrays);
  // The same for `rows` rows of `count` elements, `pitch` bytes apart, of one column.
  void add_image(const std::byte* first, Dtype dtype, std::uint64_t count, std::uint64_t rows, std::uint64_t pitch);
  // Counts elements in device memory; on `stream` it returns at once, otherwise when they are counted.
  void add(CountedData data, Stream* stream);
  void add(std::span<const BufferBase* const> arrays, std::uint64_t count, Stream* stream);
  // The totals of the kernels. Waits.
  [[nodiscard]] std::vector<std::uint64_t> totals() const;
  [[nodiscard]] Times times() const;
  [[nodiscard]] Strategy strategy() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Strategy and sizes from the plan that the device, the rule and the options make.
std::unique_ptr<CountingKernels> counting_kernels(const Device& device, const BinRule& rule,
                                                  const HistogramOptions& options, const TableUpload& upload);
// Bytes of temporary memory for `count` elements.
std::uint64_t device_workspace(const Device& device, const BinRule& rule, const HistogramOptions& options,
                               std::uint64_t count);

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data);
std::optional<ValueRange> device_finite_range(const BufferBase& data, Dtype dtype);

}  // namespace masu

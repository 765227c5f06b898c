// SPDX-License-Identifier: Apache-2.0
// Counting on an OpenCL or CUDA device: uploads what the rules need once, launches the planned kernels, reads the
// totals back. Host data comes through staging buffers, copies beside kernels.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/device/histogram_plan.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu {

class DeviceCounter {
 public:
  // Strategy and sizes from the plan that the device, the rule and the options make.
  DeviceCounter(const Device& device, const BinRule& rule, const HistogramOptions& options);
  // With a plan of the caller's; `pitched` serves images with a pitch. For tests.
  DeviceCounter(const Device& device, SlotRule rule, const histogram_plan::Plan& plan,
                const HistogramOptions& options = {});
  ~DeviceCounter();
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;

  // Counts host data: whole pixels. Page-locked memory may be reused when it returns, as other memory may.
  void add(const ArrayView& data);
  // The same for `rows` rows of `count` elements, `pitch` bytes apart.
  void add_image(const std::byte* first, std::uint64_t count, std::uint64_t rows, std::uint64_t pitch);
  // Counts `count` elements of device memory; on `stream` it returns at once, otherwise when they are counted.
  void add(const BufferBase& data, std::uint64_t count, Stream* stream);
  // The same for `rows` rows of `count` elements, `pitch` bytes apart, that begin `offset` bytes into the buffer.
  void add_rows(const BufferBase& data, std::uint64_t offset, std::uint64_t count, std::uint64_t rows,
                std::uint64_t pitch, Stream* stream);
  // rule.slots totals for each channel. Waits.
  [[nodiscard]] std::vector<std::uint64_t> totals() const;
  [[nodiscard]] Times times() const;
  [[nodiscard]] Strategy strategy() const noexcept;
  // Slots of one channel.
  [[nodiscard]] std::uint64_t slots() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// rows * channels tables.
class DeviceRowCounter {
 public:
  DeviceRowCounter(const Device& device, const BinRule& rule, std::uint64_t rows, std::uint64_t row_elements,
                   const HistogramOptions& options);
  ~DeviceRowCounter();
  DeviceRowCounter(const DeviceRowCounter&) = delete;
  DeviceRowCounter& operator=(const DeviceRowCounter&) = delete;

  // Counts the next elements; no more than the rows have.
  void add(const ArrayView& data);
  void add(const BufferBase& data, std::uint64_t count);
  // slots() totals for each row and channel. Waits.
  [[nodiscard]] std::vector<std::uint64_t> totals() const;
  [[nodiscard]] Times times() const;
  [[nodiscard]] Strategy strategy() const noexcept;
  [[nodiscard]] std::uint64_t slots() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The cells of a joint histogram, then the points outside of the bins, then those with a NaN.
class DeviceJointCounter {
 public:
  DeviceJointCounter(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                     const HistogramOptions& options);
  ~DeviceJointCounter();
  DeviceJointCounter(const DeviceJointCounter&) = delete;
  DeviceJointCounter& operator=(const DeviceJointCounter&) = delete;

  void add(std::span<const ArrayView> columns);
  void add(std::span<const BufferBase* const> columns, std::uint64_t count, Stream* stream);
  [[nodiscard]] std::vector<std::uint64_t> totals() const;
  [[nodiscard]] Times times() const;
  [[nodiscard]] Strategy strategy() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Bytes of temporary memory for `count` elements.
std::uint64_t device_workspace(const Device& device, const BinRule& rule, const HistogramOptions& options,
                               std::uint64_t count);

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data);
std::optional<ValueRange> device_finite_range(const BufferBase& data, Dtype dtype);

}  // namespace masu

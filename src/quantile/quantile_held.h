// SPDX-License-Identifier: Apache-2.0
// Data that stays where it is between passes: samples of it, and passes that count what lies below and within ranges of
// the sorted order and list the latter, on the CPU or a device.
#pragma once

#include "quantile/quantile_places.h"
#include "quantile/selection_plan.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace masu {

// Keys from `low` to `high`; what has one is counted, and listed where it says so.
struct KeyRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool listed = false;
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// What a pass finds: of each range the elements below it, and those not above it. Nothing holds where there is a NaN.
struct RangeCounts {
  std::vector<std::uint64_t> below;
  std::vector<std::uint64_t> upto;
  bool nan = false;
  friend bool operator==(const RangeCounts&, const RangeCounts&) = default;
};

class HeldData {
 public:
  HeldData(const Device& device, const ArrayView& data) : device_(device), dtype_(data.dtype), host_(data) {}
  HeldData(const BufferBase& data, Dtype dtype);

  [[nodiscard]] std::uint64_t count() const noexcept { return host_.count; }
  // The keys of so many elements, at most all, each of one of as many equal parts.
  [[nodiscard]] std::vector<std::uint64_t> sample(std::uint64_t samples) const;
  // Of elements of 4 and 8 bytes, and at most selection_plan::most_ranges ranges. The list has room for `capacity`
  // elements, and is of no use where more are within listed ranges.
  [[nodiscard]] RangeCounts pass(std::span<const KeyRange> ranges, std::uint64_t capacity);
  // Gives all elements, or those of the list.
  void give_all(PlaceFinder& finder) const;
  void give_list(PlaceFinder& finder) const;
  void clear_list();

 private:
  void pass_here(std::span<const KeyRange> ranges, std::uint64_t capacity, RangeCounts& counts);
  void pass_there(std::span<const KeyRange> ranges, std::uint64_t capacity, RangeCounts& counts);

  Device device_;
  Dtype dtype_;
  ArrayView host_;                                // null in device memory
  std::optional<Buffer<const std::byte>> there_;  // the data in device memory
  std::uint64_t listed_ = 0;
  std::vector<std::byte> list_;  // on the CPU
  std::optional<Buffer<std::byte>> list_there_;
};

}  // namespace masu

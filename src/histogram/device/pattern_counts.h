// SPDX-License-Identifier: Apache-2.0
// How often each pattern of 8 or 16 bits occurs in device memory, counted there.
#pragma once

#include "histogram/device/histogram_plan.h"

#include <masu/buffer.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstdint>
#include <vector>

namespace masu {

class PatternCounts {
 public:
  [[nodiscard]] static constexpr std::uint64_t patterns_of(Dtype dtype) noexcept {
    return std::uint64_t{1} << (8 * size_of(dtype));
  }
  // Of `count` elements.
  PatternCounts(const DeviceInfo& device, Dtype dtype, std::uint64_t count);
  // Of the memory that counting needs.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Queues the counting, once: a u64 for each pattern, from the beginning of `memory` on, which has bytes() bytes from
  // a multiple of 16 on.
  void count(Stream& stream, const BufferBase& data, const Buffer<std::byte>& memory, std::vector<Event>& launches);

 private:
  std::uint64_t count_;
  SlotRule rule_;
  histogram_plan::Plan plan_;
  std::uint64_t temporary_;  // where what counting needs besides begins
  std::uint64_t bytes_;
};

}  // namespace masu

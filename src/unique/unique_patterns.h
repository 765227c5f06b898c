// SPDX-License-Identifier: Apache-2.0
// Distinct values of 8- and 16-bit data on an OpenCL or CUDA device, from how often each pattern of bits occurs.
#pragma once

#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/device/slot_kernels.h"
#include "unique/unique_device.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace masu::unique_patterns {

// Whether counting all patterns costs less than sorting `count` elements. Of floats only where another way may follow:
// which of several zeros or NaNs is the first in the data is not known then.
[[nodiscard]] bool serves(Dtype dtype, std::uint64_t count, bool another_way) noexcept;
// Bytes of temporary memory.
[[nodiscard]] std::uint64_t workspace(const DeviceInfo& device, Dtype dtype, std::uint64_t count);

class Finder {
 public:
  // Queues the counting. `memory`: workspace() bytes from a multiple of 16 on. Data and memory must outlive the work.
  Finder(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count, Buffer<std::byte> memory);
  // Queues the values, with their counts, to memory with room for all.
  void write(const RunOutput& output);
  // The same to memory of their size, which is made here. Waits. Nothing where a value has several patterns.
  [[nodiscard]] std::optional<DeviceUnique<std::byte>> read(bool counts);
  // Device time of all that was queued; of a stream that tells times. Waits.
  [[nodiscard]] double seconds() const { return call::seconds_of(events_); }

 private:
  Stream& stream_;
  Dtype dtype_;
  Buffer<std::byte> memory_;
  std::uint64_t results_at_;  // in the memory
  std::vector<Event> events_;
};

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/group_scan.cl",
                                                          "src/unique/unique_patterns.cl"};
std::vector<runtime::Define> defines(Dtype dtype, unsigned group);

}  // namespace masu::unique_patterns

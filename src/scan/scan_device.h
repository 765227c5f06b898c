// SPDX-License-Identifier: Apache-2.0
// Scanning on an OpenCL or CUDA device.
#pragma once

#include "call/launcher.h"
#include "scan/scan_plan.h"

#include <masu/buffer.h>
#include <masu/stream.h>
#include <masu/version.h>

#include <cstdint>
#include <vector>

namespace masu {

class DeviceScan {
 public:
  // With no `workspace` of plan.workspace() bytes, memory is allocated.
  DeviceScan(const Device& device, const scan_plan::Plan& plan, const BufferBase* workspace);

  // Launches all. `row`: elements of a row; `flags` may be null; `state`: the state before the first element, empty for
  // the identity.
  void start(Stream& stream, const BufferBase& input, const BufferBase& output, std::uint64_t row,
             const BufferBase* flags, const std::vector<std::uint64_t>& state = {}, bool keeps_state = true);
  // The state after the last element. Waits.
  std::vector<std::uint64_t> fetch_state(Stream& stream) const;
  // Device time of the launches; the stream's events must tell times. Waits.
  [[nodiscard]] double seconds() const;

 private:
  scan_plan::Plan plan_;
  Buffer<std::byte> totals_;
  call::Kernels kernels_;
  std::vector<std::uint64_t> state_;  // until it is written
  std::vector<Event> launches_;
};

// The running sums of lines, outer x length x inner elements with the lines along the middle, as they lie, where there
// are so many that a work-item takes a whole one: floats of their dtype, integers in 64 bits. Else returns false, and
// enqueues nothing. `sums` may be `x` where elements are as wide.
MASU_EXPORT bool running_sums(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& sums,
                              std::uint64_t outer, std::uint64_t length, std::uint64_t inner);

}  // namespace masu

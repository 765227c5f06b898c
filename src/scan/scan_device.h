// SPDX-License-Identifier: Apache-2.0
// Scanning on an OpenCL or CUDA device: not for sums of floats.
#pragma once

#include "scan/scan_plan.h"

#include <masu/buffer.h>
#include <masu/stream.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

class DeviceScan {
 public:
  // With no `workspace`, memory is allocated.
  DeviceScan(const Device& device, const scan_plan::Plan& plan, const BufferBase* workspace);

  // Launches all. `row`: elements of a row; `flags` may be null; `state`: what lies in front of the first element.
  void start(Stream& stream, const BufferBase& input, const BufferBase& output, std::uint64_t row,
             const BufferBase* flags, std::uint64_t state);
  // What lies behind the last element. Waits.
  std::uint64_t fetch_state(Stream& stream) const;
  // Device time of the launches; the stream's events must tell times. Waits.
  [[nodiscard]] double seconds() const;

 private:
  void launch(Stream& stream, std::string_view name, std::uint64_t groups, std::vector<KernelArgument> arguments,
              bool tile);

  scan_plan::Plan plan_;
  Buffer<std::byte> totals_;
  std::vector<Event> launches_;
};

}  // namespace masu

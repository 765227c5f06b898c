// SPDX-License-Identifier: Apache-2.0
// Reducing on an OpenCL or CUDA device.
#pragma once

#include "call/launcher.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <masu/buffer.h>
#include <masu/stream.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

class DeviceReduce {
 public:
  // For data of this buffer. With no `workspace`, memory is allocated; one must lie apart from the data and `targets`,
  // which may be null.
  DeviceReduce(const BufferBase& data, const reduce_plan::Plan& plan, const BufferBase* workspace,
               const ReduceTargets& targets = {});

  // Launches all; the rows begin `data_at` bytes into the memory that the buffer lies in.
  void start(Stream& stream, const BufferBase& data, std::uint64_t data_at);
  // Launches what writes the results to memory of the caller's.
  void put(Stream& stream, const ReduceTargets& targets);
  // What was found in each row. Waits.
  std::vector<Reduced> fetch(Stream& stream) const;
  // Device time of the launches; the stream's events must tell times. Waits.
  [[nodiscard]] double seconds() const;

 private:
  template <class... T>
  void launch(Stream& stream, std::string_view name, std::uint64_t groups, const T&... arguments);

  reduce_plan::Plan plan_;
  Buffer<std::byte> memory_;
  Buffer<std::byte> parts_;
  Buffer<std::byte> results_;
  call::Kernels kernels_;
  std::vector<Event> launches_;
};

}  // namespace masu

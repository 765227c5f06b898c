// SPDX-License-Identifier: Apache-2.0
// Reducing on an OpenCL or CUDA device.
#pragma once

#include "call/launcher.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <masu/buffer.h>
#include <masu/stream.h>

#include <cstdint>
#include <vector>

namespace masu {

class DeviceReduce {
 public:
  // For data of this buffer. With no `workspace`, memory is allocated; one must lie apart from the data and `targets`,
  // which may be null: where all are, the results are for fetch().
  DeviceReduce(const BufferBase& data, const reduce_plan::Plan& plan, const BufferBase* workspace,
               const ReduceTargets& targets = {});

  // Launches all; the rows begin `data_at` bytes into the memory that the buffer lies in.
  void start(Stream& stream, const BufferBase& data, std::uint64_t data_at);
  // What was found in each row. Waits.
  std::vector<Reduced> fetch(Stream& stream) const;
  // Device time of the launch; the stream's events must tell times. Waits.
  [[nodiscard]] double seconds() const { return launch_.seconds(); }

 private:
  // Results for the host: places or counts, and elements, of extreme 0 or 1.
  [[nodiscard]] Buffer<std::byte> numbers(int which) const;
  [[nodiscard]] Buffer<std::byte> values(int which) const;
  [[nodiscard]] call::Arguments targets() const;

  reduce_plan::Plan plan_;
  Buffer<std::byte> memory_;
  ReduceTargets targets_;
  bool for_host_;
  call::Kernels kernels_;
  Event launch_;
};

}  // namespace masu

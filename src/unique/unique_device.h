// SPDX-License-Identifier: Apache-2.0
// Runs on an OpenCL or CUDA device.
#pragma once

#include "call/launcher.h"
#include "unique/unique_plan.h"

#include <masu/stream.h>
#include <masu/unique.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

// Where results go; null: not wanted. Their first element is the first run's.
struct RunOutput {
  const BufferBase* values = nullptr;
  const BufferBase* lengths = nullptr;  // u64
  const BufferBase* starts = nullptr;   // u64; with an order, the place in it of each run's first element
  const BufferBase* number = nullptr;   // u64: of the runs
};

// The runs of device memory: queues the marking of their starts, then tells how many there are, then writes them.
class DeviceRunFinder {
 public:
  // `memory` has at least plan.workspace() bytes from a multiple of 16 on. `order` may be null: of `index_bytes` bytes
  // for each element. All must outlive the work.
  DeviceRunFinder(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count,
                  const unique_plan::Plan& plan, const BufferBase& memory, const BufferBase* order,
                  std::size_t index_bytes);

  // order[i] = i.
  void fill_order();
  // To be called once, after what makes the data.
  void mark();
  // How many runs there are. Waits.
  [[nodiscard]] std::uint64_t runs();
  // Queues the writing of the runs.
  void write(const RunOutput& output);
  // Queues inverse[order[e]] = the run of element e, u64.
  void write_inverse(const BufferBase& inverse);
  // Device time of all that was queued; of a stream that tells times. Waits.
  [[nodiscard]] double seconds() const;

 private:
  [[nodiscard]] call::Arguments input() const;
  template <class... T>
  void launch(std::string_view kernel, std::uint64_t groups, const T&... arguments);

  Stream& stream_;
  const BufferBase& data_;
  std::uint64_t count_;
  unique_plan::Plan plan_;
  const BufferBase& memory_;
  const BufferBase* order_;
  std::uint64_t mask_at_;
  std::uint64_t spans_at_;
  call::Kernels kernels_;
  std::vector<Event> events_;
};

}  // namespace masu

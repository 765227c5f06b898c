// SPDX-License-Identifier: Apache-2.0
#include <masu/recording.h>

#include <fmt/format.h>

#include "runtime/backend.h"
#include "runtime/stream_pool.h"

#include <vector>

namespace masu {

std::unique_ptr<runtime::Recorder> runtime::Device::make_recorder() {
  throw Error(ErrorCode::unsupported, fmt::format("Recording: the device must be a CUDA device, got {}", info().id));
}

Recording::Recording(const Device& device, std::span<const Operand> operands,
                     const std::function<void(std::span<Buffer<std::byte>>)>& calls,
                     const std::function<void()>& prepare) {
  runtime::Device& implementation = *device.implementation();
  const std::unique_ptr<runtime::Recorder> recorder = implementation.make_recorder();
  if (prepare) prepare();
  std::vector<Buffer<std::byte>> buffers;
  buffers.reserve(operands.size());
  for (const Operand& operand : operands) {
    buffers.emplace_back(device, recorder->add_operand(operand.bytes, operand.misaligned), 0, operand.bytes);
  }
  {
    const runtime::RecordingScope scope(implementation, *recorder);
    calls(buffers);
  }
  recorded_ = recorder->finish();
}

std::uint64_t Recording::workspace_bytes() const noexcept {
  return recorded_->workspace_bytes();
}

bool Recording::enqueue(void* native_queue, std::span<void* const> operands, void* workspace) const {
  return recorded_->enqueue(native_queue, operands, workspace);
}

}  // namespace masu

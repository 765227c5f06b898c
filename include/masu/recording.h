// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls recorded once and repeated on other memory, for programs whose kernels take less time than planning them.
///
/// **Rule.** `Recording` runs calls of masu without running their commands: it records launches, copies and fills.
/// `enqueue()` gives them to a queue, with other memory in the place of the operands. It costs the host what the driver
/// takes for the commands, less than a microsecond more, and neither allocates nor waits. So CUDA graphs capture it.
/// **What can be recorded.** On CUDA devices; elsewhere the constructor throws unsupported. Calls that read results
/// back to the host, such as those that return a value, are refused with unsupported. What they write from host memory
/// is kept in device memory as long as the Recording.
/// **Operands.** Memory that only enqueue() names. While calls are recorded, buffers without memory stand for it.
/// Operands must not overlap in enqueue(), except that the same memory may stand for several that are only read.
///
/// Example:
/// @code
/// const masu::Recording::Operand operands[] = {{n * sizeof(float)}, {n * sizeof(float)}};
/// const masu::Recording sort(device, operands, [&](std::span<masu::Buffer<std::byte>> data) {
///   masu::Stream stream(device);
///   static_cast<void>(masu::sort(stream, data[0], masu::Dtype::f32, data[1]));
/// });
/// masu::Buffer<std::byte> workspace(device, sort.workspace_bytes());
/// void* addresses[] = {x, y};  // of n floats each
/// sort.enqueue(queue, addresses, workspace.native());
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/export.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace masu {

namespace runtime {
class Recorded;
}

/// See above. Cheap to copy; may be used by many threads at once.
class MASU_EXPORT Recording {
 public:
  struct Operand {
    std::uint64_t bytes;      ///< at least 1
    unsigned misaligned = 0;  ///< its address in enqueue() modulo 16
  };
  /// `calls` gets a buffer for each operand. It works in this thread, on this device, with the operands and with memory
  /// that it allocates, or that is there before. Throws what `calls` throws, and unsupported for what cannot be
  /// recorded. `prepare` runs before, unrecorded; what it makes may be used by `calls` and must then live as long as
  /// this does.
  Recording(const Device& device, std::span<const Operand> operands,
            const std::function<void(std::span<Buffer<std::byte>>)>& calls, const std::function<void()>& prepare = {});

  /// Bytes that enqueue() needs in place of what the calls allocated.
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept;
  /// Gives the commands to a CUstream. `workspace` has workspace_bytes() from a multiple of 256 bytes on and may be
  /// null where there are none. All memory must outlive the work. Returns whether a graph captured the commands: it
  /// needs this Recording as long as it is replayed.
  bool enqueue(void* native_queue, std::span<void* const> operands, void* workspace) const;

 private:
  std::shared_ptr<const runtime::Recorded> recorded_;
};

}  // namespace masu

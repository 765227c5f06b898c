// SPDX-License-Identifier: Apache-2.0
// Sorting on an OpenCL or CUDA device.
#pragma once

#include "sort/sort_job.h"

#include <masu/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace masu::runtime {
class Stream;
}  // namespace masu::runtime

namespace masu {

// What a device has been given to do: memory that must live until it is done, and the first and the last command.
struct DeviceWork {
  std::vector<Buffer<std::byte>> memory;
  std::vector<std::shared_ptr<const void>> kept;
  std::optional<Event> first;
  Event last;
  runtime::Stream* sparing = nullptr;  // of which only the first command gets an event

  void done(Event event);
  // `bytes` bytes of temporary memory: the caller's workspace, or allocated and kept with the work.
  Buffer<std::byte> memory_for(const Device& device, const BufferBase* workspace, std::uint64_t bytes) {
    if (workspace != nullptr) return Buffer<std::byte>(device, workspace->memory(), workspace->byte_offset(), bytes);
    return memory.emplace_back(device, bytes).slice(0, bytes);
  }
};

// What moves with the keys: nothing, records, or the index of each key.
struct Payload {
  enum class Kind : std::uint8_t { none, records, indices };
  Kind kind = Kind::none;
  BufferBase* buffer = nullptr;  // records are sorted in place, indices are written
  std::size_t bytes = 0;         // of a record or an index
};

// The segments of job.pieces in memory of a device, for a dtype and what moves with the keys: records where they can
// move by themselves, unless their buffer is given and lies at an odd place. Waits until all is there.
class DeviceSegments {
 public:
  DeviceSegments(const Device& device, Dtype dtype, const Payload& payload, const SortJob& job);
  ~DeviceSegments();
  DeviceSegments(const DeviceSegments&) = delete;
  DeviceSegments& operator=(const DeviceSegments&) = delete;

  struct Tables;
  [[nodiscard]] const Tables& tables() const noexcept { return *tables_; }

 private:
  std::unique_ptr<const Tables> tables_;
};

// Queues a sort of job.pieces.count keys: from `keys` to `result`, which may be the same, or, with indices, null: the
// keys stay as they are. With `may_wait` it may read what a first pass found back, and so do less. `segments`: those of
// the job made ready, or null.
DeviceWork sort_on_device(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result,
                          const Payload& payload, const SortJob& job, const BufferBase* workspace, bool may_wait,
                          const DeviceSegments* segments = nullptr);
// Waits.
bool is_sorted_on_device(const BufferBase& keys, Dtype dtype, const SortJob& job);
std::uint64_t sort_workspace_on_device(const DeviceInfo& info, Dtype dtype, const Payload& payload, const SortJob& job);

}  // namespace masu

// Many keys that are in order already, or strictly in the opposite one.
namespace masu::sort_ordered {

// Whether it is worth looking. `may_wait`: it reads what it finds back.
bool serves(const SortJob& job, bool may_wait);

// Sorts such keys, and their payload: they stay, or are reversed. False, with nothing written but the first 4 bytes of
// `workspace`, where they are in neither order. Waits for what the keys are, not for its last command.
bool sort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result, const Payload& payload,
          const SortJob& job, const Buffer<std::byte>& workspace, DeviceWork& work);

}  // namespace masu::sort_ordered

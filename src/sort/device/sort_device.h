// SPDX-License-Identifier: Apache-2.0
// Sorting on an OpenCL or CUDA device.
#pragma once

#include "sort/sort_job.h"

#include <masu/buffer.h>
#include <masu/sort.h>
#include <masu/stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
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

// Radix sort on a device: digit by digit in memory, or, for pieces that fit a work-group, in its local memory.
namespace masu {

// Where the tiles, the chunks and the pieces of a sort of segments lie: what the kernels of sort.cl and sort_local.cl
// read where MASU_PIECES is 1, in memory of the device.
class SortTables {
 public:
  // Pieces of up to `local` keys are for one work-group each; longer ones are cut into tiles of `tile` keys. Pieces of
  // 2 to `others` keys are left out. Waits until all is there.
  SortTables(const Device& device, const Pieces& pieces, std::uint64_t tile, std::uint64_t local, std::uint64_t others);

  [[nodiscard]] const BufferBase& memory() const noexcept { return memory_; }
  [[nodiscard]] std::uint64_t local_pieces() const noexcept { return local_; }
  [[nodiscard]] std::uint64_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_; }
  // The keys of each piece that is cut into tiles.
  [[nodiscard]] std::span<const Run> long_pieces() const noexcept { return long_; }
  // Where each table begins, in bytes: local pieces, tiles, chunks, long pieces.
  [[nodiscard]] std::uint64_t local_at() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t tiles_at() const noexcept { return 8 * 2 * local_; }
  [[nodiscard]] std::uint64_t chunks_at() const noexcept { return tiles_at() + 8 * 3 * tiles_; }
  [[nodiscard]] std::uint64_t pieces_at() const noexcept { return chunks_at() + 8 * chunks_; }

 private:
  std::uint64_t local_ = 0;
  std::uint64_t tiles_ = 0;
  std::uint64_t chunks_ = 0;
  std::vector<Run> long_;
  Buffer<std::uint64_t> memory_;
};

}  // namespace masu

namespace masu::sort_radix {

// Bytes of temporary memory; enough for records at any place where payload.buffer is null.
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, const SortJob& job);

// The tables of a sort of segments: of those that sort() takes. Segments of 2 to `others` keys are left to someone
// else.
SortTables tables_of(const Device& device, Dtype dtype, const Payload& payload, const SortJob& job,
                     std::uint64_t others);

// As sort_on_device, whose parameters these are. A workspace of workspace_bytes(), from a multiple of 16 on; null:
// allocated. `tables`: of segments, else null; what is outside of segments is copied or counted here.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, bool may_wait, const SortTables* tables, DeviceWork& work);

}  // namespace masu::sort_radix

namespace masu {

struct PreparedSegments::State {
  State(const Device& on, Dtype keys, std::uint64_t count, std::span<const std::uint64_t> segments, Payload::Kind moved,
        std::size_t bytes);

  // What is sorted. Throws for another number of keys.
  [[nodiscard]] SortJob job(std::string_view function, std::uint64_t count, Order order) const;
  // Throws unless it has been made for these. `values`: null where they will be well placed.
  void check(std::string_view function, const Device& on, Dtype keys, Payload::Kind moved, std::size_t bytes,
             const BufferBase* values) const;
  [[nodiscard]] const DeviceSegments* tables() const noexcept { return tables_ ? &*tables_ : nullptr; }

 private:
  Device device_;
  Dtype dtype_;
  Payload payload_;
  std::vector<std::uint64_t> offsets_;
  Pieces pieces_;
  std::optional<DeviceSegments> tables_;  // none on `cpu`, nor without keys
};

// The offsets do not fall and end within the keys.
void check_segments(std::string_view function, std::span<const std::uint64_t> offsets, std::uint64_t count);

}  // namespace masu

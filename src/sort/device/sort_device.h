// SPDX-License-Identifier: Apache-2.0
// Sorting on an OpenCL or CUDA device: the whole, and what its ways share.
#pragma once

#include "call/launcher.h"
#include "elements/elements.h"
#include "sort/sort_job.h"

#include <masu/buffer.h>
#include <masu/sort.h>
#include <masu/stream.h>

#include <array>
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
  void done(std::vector<Event> events) {
    for (Event& event : events) done(std::move(event));
  }
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
  const BufferBase* buffer = nullptr;  // records are sorted in place, indices are written
  std::size_t bytes = 0;               // of a record or an index
};

namespace sort_kernels {

// The arrays of a sort: the keys, the array for the result, which may be the same, and the payload that moves with the
// keys. The pointers are null where memory is planned, before there are arrays.
struct Arrays {
  Dtype dtype = Dtype::u8;
  Order order = Order::ascending;
  const BufferBase* source = nullptr;
  const BufferBase* target = nullptr;  // null, with indices: the keys stay
  Payload payload = {};
  const BufferBase* moved = nullptr;  // where records go; null: they stay in their array
  bool odd_places = false;            // records whose array is not there yet may lie anywhere

  [[nodiscard]] bool alone() const noexcept { return payload.kind == Payload::Kind::none; }
  [[nodiscard]] bool has_records() const noexcept { return payload.kind == Payload::Kind::records; }
  [[nodiscard]] bool has_indices() const noexcept { return payload.kind == Payload::Kind::indices; }
  [[nodiscard]] bool keys_stay() const noexcept { return has_indices() && target == nullptr; }
  [[nodiscard]] const BufferBase* records() const noexcept { return has_records() ? payload.buffer : nullptr; }
  [[nodiscard]] const BufferBase* moved_records() const noexcept { return moved != nullptr ? moved : records(); }
  [[nodiscard]] const BufferBase* indices() const noexcept { return has_indices() ? payload.buffer : nullptr; }
  [[nodiscard]] std::size_t record_bytes() const noexcept { return has_records() ? payload.bytes : 0; }
  [[nodiscard]] std::size_t index_bytes() const noexcept { return has_indices() ? payload.bytes : 0; }
  // The most bytes in which the records can be moved.
  [[nodiscard]] unsigned record_unit() const noexcept;
};

}  // namespace sort_kernels
using sort_kernels::Arrays;

// The segments of job.pieces in memory of a device, for keys and what moves with them: records where they can move by
// themselves, unless their buffer is given and lies at an odd place. Waits until all is there.
struct DeviceSegments;
std::shared_ptr<const DeviceSegments> segments_on_device(const Device& device, const Arrays& arrays,
                                                         const SortJob& job);

// Queues a sort of job.pieces.count keys. With `may_wait` it may read what a first pass found back, and so do less.
// `segments`: those of the job made ready, or null.
DeviceWork sort_on_device(Stream& stream, const Arrays& arrays, const SortJob& job, const BufferBase* workspace,
                          bool may_wait, const DeviceSegments* segments = nullptr);
// Waits.
bool is_sorted_on_device(Stream& stream, const BufferBase& keys, Dtype dtype, const SortJob& job);
// For records at any place.
std::uint64_t sort_workspace_on_device(const DeviceInfo& info, Arrays arrays, const SortJob& job);

}  // namespace masu

namespace masu::sort_kernels {

// The defines of sort_key.cl and what stands in front of it.
inline std::vector<runtime::Define> key_defines(Dtype dtype, Order order = Order::ascending) {
  return element_defines(dtype, {{"MASU_DESCENDING", order == Order::descending}});
}

// Unrolls loops over the keys of a work-item on GPUs.
inline runtime::Define unrolled_define(const DeviceInfo& info) {
  return {"MASU_UNROLLED", info.gpu ? "MASU_PRAGMA_UNROLL" : "_Pragma(\"nounroll\")"};
}

// Whether values of so many bytes, a power of two, can be read whole; of a buffer that is not known yet, so assumed.
bool aligned(const BufferBase* buffer, std::uint64_t bytes);

// Bytes in the memory of a buffer that outlives the call, from `at` on; or none.
struct Place {
  const BufferBase* buffer = nullptr;
  std::uint64_t at = 0;

  Place() = default;
  Place(const BufferBase* all) : buffer(all), at(all != nullptr ? all->byte_offset() : 0) {}
  Place(const BufferBase* all, std::uint64_t from) : buffer(all), at(from) {}
  explicit operator bool() const noexcept { return buffer != nullptr; }
  [[nodiscard]] bool is(const Place& other) const {
    return buffer->memory() == other.buffer->memory() && at == other.at;
  }
  [[nodiscard]] Place after(std::uint64_t bytes) const { return {buffer, at + bytes}; }
  [[nodiscard]] call::At argument() const { return {*buffer, at}; }
};
// Keys, and what moves with them.
struct Side {
  Place keys;
  Place values;
};
void copy(Stream& stream, const Place& to, const Place& from, std::uint64_t bytes, DeviceWork& work);

// A buffer for a kernel that leaves it alone where there is none: then `otherwise`'s memory.
[[nodiscard]] inline call::At place_of(const BufferBase* buffer, const BufferBase& otherwise) {
  return buffer == nullptr ? call::At{otherwise, 0} : call::At{*buffer, buffer->byte_offset()};
}

// moved[i] = records[indices[i]] for `count` records, indices counted from the begin of pieces of `piece_length`.
void gather(Stream& stream, const BufferBase& records, const BufferBase& moved, const BufferBase& indices,
            std::size_t index_bytes, std::size_t record_bytes, std::uint64_t count, std::uint64_t piece_length,
            DeviceWork& work);

// Writes the numbers from 0 on, or, `falling`, down to 0.
void count_up(Stream& stream, const BufferBase& indices, std::size_t index_bytes, std::uint64_t count, bool falling,
              DeviceWork& work);

inline constexpr std::uint64_t most_groups = std::uint64_t{1} << 30;  // of a launch

}  // namespace masu::sort_kernels

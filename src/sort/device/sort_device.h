// SPDX-License-Identifier: Apache-2.0
// Sorting on an OpenCL or CUDA device: the whole, what its ways share, and those that sort pieces of any kind.
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
  const BufferBase* buffer = nullptr;  // records are sorted in place, indices are written
  std::size_t bytes = 0;               // of a record or an index
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
DeviceWork sort_on_device(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result,
                          const Payload& payload, const SortJob& job, const BufferBase* workspace, bool may_wait,
                          const DeviceSegments* segments = nullptr);
// Waits.
bool is_sorted_on_device(Stream& stream, const BufferBase& keys, Dtype dtype, const SortJob& job);
std::uint64_t sort_workspace_on_device(const DeviceInfo& info, Dtype dtype, const Payload& payload, const SortJob& job);

}  // namespace masu

// Many keys that are in order already, or strictly in the opposite one.
namespace masu::sort_ordered {

// Whether it is worth looking. `may_wait`: it reads what it finds back.
bool serves(const SortJob& job, bool may_wait);

// Sorts such keys, and their payload: they stay, or are reversed. False, with nothing written but the first 4 bytes of
// `workspace`, where they are in neither order. Waits for what the keys are, not for its last command.
bool sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Payload& payload,
          const SortJob& job, const Buffer<std::byte>& workspace, DeviceWork& work);

}  // namespace masu::sort_ordered

// Radix sort on a device: digit by digit in memory.
namespace masu {

// Where the tiles, the chunks and the pieces of a sort of segments lie: what the kernels of sort.cl read where
// MASU_PIECES is 1, in memory of the device.
class SortTables {
 public:
  // Pieces are cut into tiles of `tile` keys. Those of up to `others` keys are left out. Waits until all is there.
  SortTables(const Device& device, const Pieces& pieces, std::uint64_t tile, std::uint64_t others);

  [[nodiscard]] const BufferBase& memory() const noexcept { return memory_; }
  [[nodiscard]] std::uint64_t others() const noexcept { return others_; }
  [[nodiscard]] std::uint64_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] std::span<const Run> pieces() const noexcept { return pieces_; }
  // Where each table begins, in bytes: tiles, chunks, pieces.
  [[nodiscard]] std::uint64_t tiles_at() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t chunks_at() const noexcept { return tiles_at() + 8 * 3 * tiles_; }
  [[nodiscard]] std::uint64_t pieces_at() const noexcept { return chunks_at() + 8 * chunks_; }

 private:
  std::uint64_t others_;
  std::uint64_t tiles_ = 0;
  std::uint64_t chunks_ = 0;
  std::vector<Run> pieces_;
  Buffer<std::uint64_t> memory_;
};

}  // namespace masu

namespace masu::sort_radix {

// Bytes of temporary memory, where pieces of up to `others` keys are left to others; enough for records at any place
// where payload.buffer is null.
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, const SortJob& job,
                              std::uint64_t others);

// The tables of a sort of segments: of those that sort() takes. Segments of up to `others` keys are left to someone
// else.
SortTables tables_of(const Device& device, Dtype dtype, const Payload& payload, const SortJob& job,
                     std::uint64_t others);

// As sort_on_device, whose parameters these are. A workspace of workspace_bytes(), from a multiple of 16 on; null:
// allocated. `tables`: of segments, else null; what is outside of segments is copied or counted here.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, bool may_wait, const SortTables* tables, DeviceWork& work);

}  // namespace masu::sort_radix

namespace masu {

struct PreparedSegments::State {
  State(const Device& on, Dtype keys, std::uint64_t count, std::span<const std::uint64_t> segments, Payload::Kind moved,
        std::size_t bytes);

  // What is sorted. Throws for another number of keys.
  [[nodiscard]] SortJob job(std::string_view function, std::uint64_t count, Order order) const;
  // Throws unless it has been made for these. Values on the host will be well placed.
  void check(std::string_view function, const Device& on, Dtype keys, const Payload& payload) const;
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

namespace masu::sort_kernels {

// Where keys, and what moves with them, come from and go to. A target may be its source. No target: not wanted.
struct Arrays {
  Dtype dtype = Dtype::u8;
  Order order = Order::ascending;
  const BufferBase* source = nullptr;
  const BufferBase* target = nullptr;
  const BufferBase* records = nullptr;
  const BufferBase* moved_records = nullptr;
  std::size_t record_bytes = 0;
  const BufferBase* indices = nullptr;
  std::size_t index_bytes = 0;
  bool odd_places = false;  // where the records' arrays are not given yet: they may lie anywhere

  // Sizes alone say what is asked for, so that memory can be planned before there are arrays.
  [[nodiscard]] bool has_records() const noexcept { return record_bytes != 0; }
  [[nodiscard]] bool has_indices() const noexcept { return index_bytes != 0; }
  [[nodiscard]] bool keys_stay() const noexcept { return has_indices() && target == nullptr; }
  // The most bytes in which the records can be moved.
  [[nodiscard]] unsigned record_unit() const noexcept;
};

// The defines of sort_key.cl and what stands in front of it.
inline std::vector<runtime::Define> key_defines(Dtype dtype, Order order) {
  return element_defines(dtype, {{"MASU_DESCENDING", order == Order::descending}});
}

// Whether values of so many bytes, a power of two, can be read whole; of a buffer that is not known yet, so assumed.
bool aligned(const BufferBase* buffer, std::uint64_t bytes);

// A buffer for a kernel that leaves it alone where there is none: then `otherwise`'s memory.
[[nodiscard]] inline call::At place_of(const BufferBase* buffer, const BufferBase& otherwise) {
  return buffer == nullptr ? call::At{otherwise, 0} : call::At{*buffer, buffer->byte_offset()};
}

// moved[i] = records[indices[i]] for `count` records, indices counted from the begin of pieces of `piece_length`.
void gather(Stream& stream, const BufferBase& records, const BufferBase& moved, const BufferBase& indices,
            std::size_t index_bytes, std::size_t record_bytes, std::uint64_t count, std::uint64_t piece_length,
            DeviceWork& work);

inline constexpr std::uint64_t most_groups = std::uint64_t{1} << 30;  // of a launch

}  // namespace masu::sort_kernels

// Many short rows or segments on a device: each is sorted by one work-group, or by a part of one, in registers.
namespace masu::sort_rows {

// One kernel of sort_rows.cl.
struct Plan {
  Dtype dtype = Dtype::u8;
  Order order = Order::ascending;
  bool gpu = true;
  bool indexed = false;   // items have an index: what moves with the keys, or a stable order, is wanted
  bool segments = false;  // rows lie where arrays say
  bool listed = false;    // only the tiles of a list
  bool whole = false;     // every row fills its lanes
  bool moves_keys = true;
  unsigned index_bytes = 0;
  unsigned record_unit = 0;
  unsigned items = 2;   // of a work-item
  unsigned lanes = 1;   // work-items that share a row
  unsigned group = 64;  // work-items

  [[nodiscard]] std::uint64_t tile_rows() const noexcept { return group / lanes; }
  [[nodiscard]] std::uint64_t row_keys() const noexcept { return std::uint64_t{lanes} * items; }
  [[nodiscard]] bool index_apart() const noexcept { return indexed && size_of(dtype) == 8; }
  [[nodiscard]] unsigned most_items_here() const noexcept;
  [[nodiscard]] unsigned registers() const noexcept;  // that the kernel should do with
  [[nodiscard]] unsigned item_bytes() const noexcept;
  [[nodiscard]] unsigned local_pad() const noexcept;
  [[nodiscard]] std::size_t local_bytes() const noexcept;        // for items
  [[nodiscard]] std::size_t local_index_bytes() const noexcept;  // for indices
  [[nodiscard]] static std::span<const std::string_view> files() noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// The longest row that a work-group of the device takes.
std::uint64_t most_local_keys(const DeviceInfo& device, Dtype dtype, bool indexed);

// The kernel for rows of up to `longest` keys, which most_local_keys() allows.
Plan make(const DeviceInfo& device, const sort_kernels::Arrays& arrays, bool indexed, std::uint64_t longest);

// Whether keys without anything that moves along may have to be sorted with indices: equal ones can differ in bits.
inline bool needs_list(Dtype dtype) {
  return is_float(dtype);
}

// `pieces` of `piece_length` keys, one after the other, each cut into rows of `row_length`, the last of each shorter.
struct Rows {
  std::uint64_t pieces = 1;
  std::uint64_t piece_length = 0;
  std::uint64_t row_length = 0;
};

// Bytes of temporary memory beside the arrays: what the calls below take from `workspace`, or else allocate.
std::uint64_t workspace_bytes(const DeviceInfo& device, const sort_kernels::Arrays& arrays, const Rows& rows);

// Sorts every row by itself, stably. An index is written as counted from the begin of the piece. Rows must not be
// longer than most_local_keys(), with indices where anything but keys is wanted.
void sort(Stream& stream, const sort_kernels::Arrays& arrays, const Rows& rows, const BufferBase* workspace,
          DeviceWork& work);

// The segments of up to most_local_keys(), listed on the device by classes of lengths: 12 bytes of its memory for each.
// Waits until all is there.
class Segments {
 public:
  // `indexed`: something moves with the keys.
  Segments(const Device& device, Dtype dtype, bool indexed, std::span<const std::uint64_t> offsets);

  // Bytes of temporary memory for so many segments.
  static std::uint64_t workspace_bytes(const sort_kernels::Arrays& arrays, std::uint64_t segments);

  // Sorts each by itself, stably; longer ones, and what is outside, are left to the caller: source and target are the
  // same. Indices count from the segment's begin. `workspace`: of workspace_bytes(), null: allocated.
  void sort(Stream& stream, const sort_kernels::Arrays& arrays, const BufferBase* workspace, DeviceWork& work) const;

 private:
  static constexpr std::size_t most_classes = 33;         // class c: more than 2^(c - 1) keys, up to 2^c
  std::array<std::uint64_t, most_classes + 1> firsts_{};  // where each class begins
  Buffer<std::uint64_t> begins_;                          // of the segments, in keys
  Buffer<std::uint32_t> lengths_;
};

}  // namespace masu::sort_rows

// Merge sort on a device: runs by sort_rows, then stable merges, two runs into one, from one memory to another and
// back.
namespace masu::sort_merge {

// Bytes of temporary memory for `pieces` of `piece_length` keys: a copy of the keys, and one of what moves with them.
// Records of other sizes than 1, 2, 4 and 8 bytes, or at odd places, go by indices, which take more where records are
// short; indices alone take two copies of the keys, since the keys themselves stay.
std::uint64_t workspace_bytes(const DeviceInfo& device, const sort_kernels::Arrays& arrays, std::uint64_t pieces,
                              std::uint64_t piece_length);

// Sorts `pieces` of equal length, one after the other, stably. As Arrays: keys go from source to target; with indices
// and no target, the keys stay; records move within their array. A workspace of workspace_bytes(), from a multiple of
// 16 on; null: allocated.
void sort(Stream& stream, const sort_kernels::Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length,
          const BufferBase* workspace, DeviceWork& work);

// Merges sorted runs of arrays.source, of which none is empty and each lies after the one before, into arrays.target,
// and records with them, stably. With more than two runs the sources are written to as well. Needs no memory.
void merge(Stream& stream, const sort_kernels::Arrays& arrays, std::vector<Run> runs, DeviceWork& work);

// What moves with a key: units of 0, 1, 2, 4 or 8 bytes.
struct Moved {
  unsigned unit_bytes = 0;
  unsigned units = 0;
};
// The kernel's constants, for tests.
std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype, Order order, Moved moved);
std::span<const std::string_view> files() noexcept;

}  // namespace masu::sort_merge

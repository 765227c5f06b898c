// SPDX-License-Identifier: Apache-2.0
// What the launches of this room share.
#pragma once

#include "call/launcher.h"
#include "elements/elements.h"
#include "sort/device/sort_device.h"
#include "sort/sort_job.h"

#include <masu/stream.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

// The segments of 2 keys up to most_local_keys(), listed on the device by classes of lengths: 12 bytes of its memory
// for each. Waits until all is there.
class Segments {
 public:
  // `indexed`: something moves with the keys.
  Segments(const Device& device, Dtype dtype, bool indexed, std::span<const std::uint64_t> offsets);

  // Bytes of temporary memory for so many segments.
  static std::uint64_t workspace_bytes(const sort_kernels::Arrays& arrays, std::uint64_t segments);

  // Sorts each by itself, stably; longer ones are left to the caller. Shorter ones, and what is outside, are neither
  // written nor copied: source and target are the same, and indices (counted from the segment's begin) of segments of 1
  // key are not written. `workspace`: of workspace_bytes(), null: allocated.
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

// Merges sorted runs of arrays.source, of which none is empty and each lies behind the one before, into arrays.target,
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

// The bitonic network on a device: stages within tiles by sort_rows, then for each further stage its far passes, up to
// three a launch, and one launch for the rest.
namespace masu::bitonic {

// Bytes of temporary memory for `pieces` of `piece_length` keys: an index for each key, where keys alone could be seen
// to change places or records move, and a copy of the records; nothing for pieces that fit a work-group.
std::uint64_t workspace_bytes(const DeviceInfo& device, const sort_kernels::Arrays& arrays, std::uint64_t pieces,
                              std::uint64_t piece_length);

// Sorts `pieces` of equal length, one after the other, stably. As Arrays: keys go from source to target; with indices
// and no target, the keys stay (workspace has room for a copy); records move within their array. A workspace of
// workspace_bytes(), from a multiple of 16 on; null: allocated.
void sort(Stream& stream, const sort_kernels::Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length,
          const BufferBase* workspace, DeviceWork& work);

// The kernels' constants, for tests: of bitonic_far for 1 to 3 passes, of bitonic_near for 0.
std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype, Order order, unsigned index_bytes,
                                     unsigned fused);
std::span<const std::string_view> files() noexcept;

}  // namespace masu::bitonic

// SPDX-License-Identifier: Apache-2.0
// Many short rows or segments on a device: each is sorted by one work-group, or by a part of one, in registers.
#pragma once

#include "sort/device/sort_device.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

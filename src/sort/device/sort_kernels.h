// SPDX-License-Identifier: Apache-2.0
// What the launches of this room share.
#pragma once

#include "call/launcher.h"
#include "elements/elements.h"
#include "sort/device/sort_device.h"

#include <masu/stream.h>

#include <cstdint>
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

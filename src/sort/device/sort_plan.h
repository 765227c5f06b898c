// SPDX-License-Identifier: Apache-2.0
// What to launch to sort on a device, and every constant of the kernels: they stand here once and reach the kernels as
// defines.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/sort.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::sort_plan {

inline constexpr unsigned digits = 256;
inline constexpr unsigned digit_bits = 8;
inline constexpr unsigned columns = 32;
// Counters of a tile: two of 16 bits a word, for each column.
inline constexpr unsigned counter_words = digits / 2 * columns;
// Tiles of a chunk: a work-group sums the counts of one chunk.
inline constexpr unsigned chunk_tiles = 128;
inline constexpr unsigned order_group = 256;  // work-items, of the kernels of sort_order.cl, and for groups

// Work-group size, keys of a work-item, and work-groups that share a compute unit.
struct Shape {
  unsigned group = 0;  // 0: there is none
  unsigned items = 0;
  unsigned resident = 0;
  [[nodiscard]] unsigned tile() const noexcept { return group * items; }
};
// And the bits of a bin's number, of kernels that finish buckets.
struct FinishShape : Shape {
  unsigned bin_bits = 0;
};
using ByKeyBytes = std::array<unsigned, 4>;  // 1, 2, 4, 8

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "sort/device/sort_tuning.def"
};
inline Tuned tuned;

// The files of a program: those with the order of keys, and `more`.
template <class... Names>
constexpr auto files(Names... more) noexcept {
  return std::array<std::string_view, 3 + sizeof...(more)>{"src/elements/elements.cl", "src/elements/order.cl",
                                                           "src/sort/device/sort_key.cl", more...};
}

// How keys of one kind are sorted in tiles.
struct Plan {
  Dtype dtype = Dtype::u32;
  std::size_t value_bytes = 0;  // that move with a key; 0, 1, 2, 4, 8 or 16
  bool large = false;           // more keys than 32 bits count
  bool pieces = false;          // several pieces, listed in tables
  unsigned group = 256;         // work-items in a work-group
  unsigned items = 16;          // keys of a work-item
  unsigned resident = 1;        // work-groups that share a compute unit
  bool unroll = true;           // loops over the keys of a work-item

  [[nodiscard]] std::uint64_t tile() const noexcept { return std::uint64_t{group} * items; }
  [[nodiscard]] unsigned passes() const noexcept { return static_cast<unsigned>(size_of(dtype)); }
  [[nodiscard]] unsigned pad_shift() const noexcept;
  [[nodiscard]] std::uint64_t staging_words() const noexcept;
  [[nodiscard]] std::uint64_t offset_bytes() const noexcept { return large ? 8 : 4; }
  // Local memory of the kernels, in bytes.
  [[nodiscard]] std::uint64_t count_bytes() const noexcept;
  [[nodiscard]] std::uint64_t scatter_bytes() const noexcept;

  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// Kernels of sort.cl, for pieces of any length.
Plan make(const DeviceInfo& info, Dtype dtype, std::size_t value_bytes, std::uint64_t count, bool pieces);
// Whether values of so many bytes move with the keys, rather than being gathered at the end.
bool carried(std::size_t value_bytes) noexcept;

inline constexpr auto sort_files = files("src/elements/group_scan.cl", "src/sort/device/sort_counters.cl",
                                         "src/sort/device/sort_rank.cl", "src/sort/device/sort.cl");
inline constexpr auto order_files = files("src/sort/device/sort_order.cl");
inline constexpr std::array<std::string_view, 3> group_key_files = {
    "src/elements/elements.cl", "src/elements/first_position.cl", "src/sort/device/sort_group_keys.cl"};
inline constexpr std::array<std::string_view, 1> group_border_files = {"src/sort/device/sort_group_borders.cl"};

}  // namespace masu::sort_plan

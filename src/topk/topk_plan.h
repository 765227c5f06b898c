// SPDX-License-Identifier: Apache-2.0
// What to launch for a top-k on a device, and every constant of the kernels: they stand here once and reach the kernels
// as defines.
#pragma once

#include "elements/order.h"
#include "runtime/kernel_source.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/topk.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

// Elements as ranks: unsigned numbers that are the greater the earlier an element comes; elements of one rank are equal
// and come by index. The kernels' half is topk_rank.cl.

// Which element comes first. NaNs that come last and NaNs that are skipped have the rank 0, which nothing else of a
// float has.
struct Ranking {
  bool largest = true;
  bool nan_first = false;
  bool skip = false;

  Ranking(Dtype dtype, bool largest_first, NanPolicy nan)
      : largest(largest_first),
        nan_first(is_float(dtype) && largest_first && nan == NanPolicy::last),
        skip(is_float(dtype) && nan == NanPolicy::skip) {}

  template <class T>
  [[nodiscard]] KeyOf<T> operator()(T x) const noexcept {
    const KeyOf<T> key = ordered_key(x);
    if constexpr (is_float_type<T>) {
      if (skip && key == static_cast<KeyOf<T>>(~KeyOf<T>{0})) return 0;
    }
    return largest ? key : static_cast<KeyOf<T>>(~key);
  }
};

}  // namespace masu

namespace masu::topk_plan {

// A program; each has the kernels of its last file.
enum class Part { select, finish, rows, short_rows, digits };
inline constexpr std::size_t parts = 5;

// Elements of one launch: their numbers, and counts of them, fit 32 bits.
inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 31;
// The sample: at least this many elements, at most `most_sampled`, and in between one of this many elements. A
// work-item keeps the greatest of those that it sees: so `samples` ranks are left, whatever was looked at.
inline constexpr std::uint32_t samples = 8192;
inline constexpr std::uint64_t most_sampled = std::uint64_t{1} << 19;
inline constexpr std::uint64_t elements_a_sample = 64;
// Work-items that look for one of the ranks, and how many elements each looks at.
inline constexpr unsigned lookers = 8;
inline constexpr std::uint64_t looks = most_sampled / samples / lookers;
// Below this a work-group takes the whole row: a sample would cost as much as it saves.
inline constexpr std::uint64_t least_filtered = 1 << 15;
// Rows up to this length are taken by one work-group each, if there are several.
inline constexpr std::uint64_t most_row_elements = 1 << 20;
// Rows of which each has a work-item: so many that they fill the device, of so few elements, and not too many of the
// results, for each of which it goes through the row.
inline constexpr std::uint64_t most_short_elements = 64;
inline constexpr std::uint64_t most_short_looks = 512;
inline constexpr unsigned short_group = 128;
// Digits of exact selection.
inline constexpr unsigned digit_bits = 11;
inline constexpr unsigned most_prefixes = 4;
// Where arrays begin in temporary memory.
inline constexpr std::uint64_t alignment = 256;

struct Plan {
  Dtype dtype = Dtype::u8;
  Ranking ranking;
  bool gpu = false;
  unsigned group = 256;        // work-items of the filter
  unsigned digit_group = 256;  // of digits
  unsigned order_group = 256;  // of kernels that run as one work-group
  unsigned row_group = 256;    // of those for rows
  unsigned unroll = 4;         // 16-byte loads in flight
  unsigned batch = 1;          // entries that a work-item of one work-group loads at once
  unsigned groups_a_unit = 1;  // work-groups of the filter for each compute unit
  unsigned compute_units = 1;
  unsigned copies = 1;          // of the tables of a selection
  unsigned row_copies = 1;      // of those for rows
  unsigned digit_copies = 1;    // of the tables of exact selection
  std::uint64_t places = 1024;  // the most that a work-group brings into order in local memory

  // Entries have their index apart.
  [[nodiscard]] bool pairs() const noexcept { return size_of(dtype) == 8; }
  [[nodiscard]] bool short_rows(std::uint64_t rows, std::uint64_t count, std::uint64_t k) const noexcept {
    return rows >= std::uint64_t{compute_units} * 32 && count <= most_short_elements && count * k <= most_short_looks;
  }
  [[nodiscard]] std::vector<std::string_view> files(Part part) const;
  [[nodiscard]] unsigned work_items(Part part) const noexcept;  // of a work-group
  [[nodiscard]] std::vector<runtime::Define> defines(Part part, unsigned prefixes = 1) const;
  // Tiles of the filter for `count` elements, wherever they begin.
  [[nodiscard]] std::uint64_t tiles(std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t filter_groups(std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t tile_elements() const noexcept;
  // Local memory, in bytes: of a work-group that samples; of the one that finds the threshold; of the entries' keys.
  [[nodiscard]] std::size_t sample_local() const noexcept;
  [[nodiscard]] std::size_t threshold_local() const noexcept;
  [[nodiscard]] std::size_t keys_local(Part part, std::uint64_t places) const noexcept;
  // Short rows are taken by small work-groups, so that many are on their way.
  void fit_rows(std::uint64_t length) noexcept;
};

Plan make(const DeviceInfo& device, Dtype dtype, const Ranking& ranking);

// How the threshold is found that `count` elements are filtered by, for the first k.
struct Sampling {
  bool sampled = false;        // otherwise the threshold is below everything
  unsigned shift = 0;          // 2^shift elements are looked at
  std::uint32_t rest = 0;      // the threshold is this one of the ranks that are left, the greatest being 1
  std::uint64_t capacity = 0;  // entries to have room for
};
// The threshold lets k elements pass but once in some millions; so many more than `capacity` pass even less often.
Sampling sampling(const Plan& plan, std::uint64_t count, std::uint64_t k);

}  // namespace masu::topk_plan

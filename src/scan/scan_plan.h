// SPDX-License-Identifier: Apache-2.0
// How data is scanned, and every constant of the kernels and of the CPU's threads.
#pragma once

#include "elements/order.h"
#include "reduce/reduce_rank.h"
#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/scan.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu::scan_plan {

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "scan/scan_tuning.def"
};
inline Tuned tuned;

// The alignment of temporary memory, in bytes.
inline constexpr std::uint64_t alignment = 16;
// What one CPU thread takes at a time: it stays in the second-level cache between its total and its scan.
inline constexpr std::uint64_t cpu_piece_bytes = std::uint64_t{1} << 18;
inline constexpr unsigned cpu_pieces_a_thread = 2;
// What a thread writes at a time where outputs go past the caches.
inline constexpr std::uint64_t cpu_buffer_bytes = std::uint64_t{1} << 13;

struct Plan {
  Dtype from = Dtype::u8;   // of the input
  Dtype dtype = Dtype::u8;  // of results
  ScanOp op = ScanOp::sum;
  bool exclusive = false;
  bool segmented = false;
  bool once = false;       // in one launch, whose work-groups wait for each other
  bool exact = false;      // sums of floats
  bool fp64 = false;       // the device has doubles
  unsigned group = 256;    // work-items in a work-group that scan
  unsigned sub_group = 1;  // work-items that exchange without local memory; in one launch this many more read totals
  unsigned vectors = 4;    // 16-byte vectors of a work-item in a tile
  unsigned columns = 32;   // exact: counters of a digit
  std::uint64_t count = 0;
  std::uint64_t chunk = 1;           // elements that a work-group takes tile after tile, in several launches
  bool whole_rows = false;           // chunks begin with rows, so they need no totals
  std::uint32_t matrix_columns = 1;  // more: the rows are columns of matrices that have as many
  std::uint64_t groups = 1;          // work-groups

  [[nodiscard]] std::uint64_t tile_elements() const noexcept;
  [[nodiscard]] std::uint64_t tiles() const noexcept { return (count + tile_elements() - 1) / tile_elements(); }
  // The chunks' totals and the total of all: pairs of words, or for exact sums rows of words. In one launch: the words
  // in which totals are published, and the total of all.
  [[nodiscard]] std::uint64_t workspace() const noexcept;
  // Where in it the state after all is, and its 64-bit words: the bits of an element, or a wide number's 32-bit words
  // and how many NaNs, infinities and minus infinities there were.
  [[nodiscard]] std::uint64_t state_at() const noexcept;
  [[nodiscard]] unsigned state_words() const noexcept { return exact ? wide_words() + 3 : 1; }
  // Exact: the words of a number that holds any sum of 2^48 elements, and the digits of 16 bits that elements have.
  [[nodiscard]] unsigned wide_words() const noexcept;
  [[nodiscard]] unsigned table_rows() const noexcept;
  // Work-items of a work-group, those that read totals among them.
  [[nodiscard]] unsigned items() const noexcept { return once ? group + sub_group : group; }
  // Local memory of the kernels: a tile, or those that wait to be written, and the totals.
  [[nodiscard]] std::uint64_t tile_bytes() const noexcept;
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept;
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept;
  // Exact: of the sums of the table's rows; of a wide number with the table.
  [[nodiscard]] std::uint64_t sums_bytes() const noexcept;
  [[nodiscard]] std::uint64_t wide_bytes() const noexcept;
  [[nodiscard]] std::uint64_t exact_bytes() const noexcept {
    return tile_bytes() + totals_bytes() + sums_bytes() + wide_bytes();
  }
  [[nodiscard]] std::span<const std::string_view> files() const noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// `row`: elements of a row where segments are rows alone; else 0. `matrix_columns`: as in Plan. `group`, `most_groups`:
// not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype from, Dtype dtype, std::uint64_t count, ScanOp op, bool exclusive,
          bool segmented, unsigned group = 0, std::uint64_t most_groups = 0, std::uint64_t row = 0,
          std::uint32_t matrix_columns = 1);
// The same scan in one launch, where it can be done so and the device can have `groups` work-groups on it at once.
// `group`: as in make.
bool can_be_once(const Plan& plan) noexcept;
Plan in_one_launch(const DeviceInfo& device, Plan plan, std::uint64_t groups, unsigned group = 0) noexcept;

}  // namespace masu::scan_plan

namespace masu {

// What is scanned with: the operations on single elements.
template <class T>
inline constexpr bool has_infinity = infinity_bits<T> != 0;

// The identity's bits.
template <class T>
[[nodiscard]] constexpr std::uint64_t scan_identity(ScanOp op) noexcept {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  if (op == ScanOp::sum) return 0;
  if constexpr (has_infinity<T>) {
    return op == ScanOp::min ? infinity_bits<T> : infinity_bits<T> | sign;
  } else {
    constexpr auto greatest = static_cast<Bits>(std::is_signed_v<T> ? sign - 1 : ~Bits{0});
    return op == ScanOp::min ? greatest : static_cast<Bits>(~greatest);
  }
}
[[nodiscard]] inline std::uint64_t scan_identity(Dtype dtype, ScanOp op) {
  return dispatch(dtype, [&](auto tag) { return scan_identity<typename decltype(tag)::type>(op); });
}

// Sums of floats are exact; the others have states that are elements.
[[nodiscard]] constexpr bool is_exact_sum(Dtype dtype, ScanOp op) noexcept {
  return op == ScanOp::sum && is_float(dtype);
}

}  // namespace masu

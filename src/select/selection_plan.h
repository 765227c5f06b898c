// SPDX-License-Identifier: Apache-2.0
// Selecting elements by their places on a device: programs, sizes, and every constant of the kernels.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/program.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::selection_plan {

// A program; each has the kernels of its last file.
enum class Part : std::uint8_t { alone, bounds, passes, points, numbers, ranges, counts };

// Elements of a row that the passes take: their numbers fit 32 bits.
inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 31;
// Ranges of one pass, as in selection_ranges.cl; what a pass finds, in words of 32 bits.
inline constexpr std::size_t most_ranges = 6;
inline constexpr std::size_t ranges_words = 4 * most_ranges + 2;

// Prefixes of which one pass of selection_counts.cl counts the digits that follow.
inline constexpr std::size_t most_prefixes = 4;
// Host data goes to a device in pieces of this.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{64} << 20;

// As in selection.cl.
inline constexpr unsigned digit_bits = 11;
inline constexpr std::size_t table_words = std::size_t{1} << digit_bits;
inline constexpr std::size_t state_words = 16;
inline constexpr std::size_t filtered_words = 3;
inline constexpr std::uint64_t vector_bytes = 16;
inline constexpr std::size_t more_words = 8;  // of local memory after a state

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "select/selection_tuning.def"
};
inline Tuned tuned;

// How selection_row.cl takes a row: by a work-group, or by a cluster of them, each of which has a part of it, in local
// memory where it fits.
struct RowShape {
  unsigned group = 1;       // work-items
  unsigned cluster = 1;     // work-groups of a row
  std::uint64_t share = 0;  // vectors of a part
  bool holds = false;       // in local memory

  // Loads in flight: `elements`, or vectors, of which elements of few bytes need more registers.
  [[nodiscard]] unsigned batch(Dtype dtype, unsigned elements) const noexcept {
    return holds ? std::max(1U, std::min(elements, static_cast<unsigned>(2 * size_of(dtype)))) : elements;
  }
  // Local memory of a selection: tables, a word for each work-item, and a state; what is held.
  [[nodiscard]] LocalMemory words() const noexcept {
    return {(2 * std::size_t{256} + group + 16) * sizeof(std::uint32_t)};
  }
  [[nodiscard]] LocalMemory held() const noexcept {
    return {static_cast<std::size_t>(holds ? share : 1) * vector_bytes};
  }
};
// `beside`: bytes of local memory that the kernel needs for other things. `orders_many`: many entries are put into
// order, too, for which the work-groups of a cluster wait.
RowShape row_shape(const DeviceInfo& device, Dtype dtype, std::uint64_t rows, std::uint64_t count, std::uint64_t beside,
                   bool orders_many = false);

struct Plan {
  Dtype dtype = Dtype::u8;
  bool gpu = false;
  unsigned group = 256;  // work-items of a work-group of many
  RowShape row{};        // of those that work alone, or in a cluster
  unsigned unroll = 1;
  unsigned compute_units = 1;
  unsigned few = 0;  // places for the elements of a row of few, all of which a work-item has in registers
  // From this number of elements up, a sample bounds the search, if keys have 32 bits or more.
  std::uint64_t least_bounded = 0;

  [[nodiscard]] static std::vector<std::string_view> files(Part part);
  // `number`: of ranges, or of prefixes whose digits are counted. `listed`: a bit for each range that is listed.
  [[nodiscard]] std::vector<runtime::Define> defines(Part part, std::size_t number = 1, unsigned listed = 1) const;
  // Copies of the tables in which a work-group counts the digits after so many prefixes.
  [[nodiscard]] std::size_t copies(std::size_t prefixes) const noexcept { return gpu ? most_prefixes / prefixes : 1; }
  [[nodiscard]] unsigned work_items(Part part) const noexcept {
    return part == Part::alone || part == Part::bounds ? row.group : group;
  }
  [[nodiscard]] unsigned passes() const noexcept;
  // 16-byte vectors that a work-group of many takes at a time.
  [[nodiscard]] std::uint64_t tile_vectors() const noexcept { return std::uint64_t{group} * unroll; }
  // Tiles of `count` elements at any alignment.
  [[nodiscard]] std::uint64_t tiles(std::uint64_t count) const noexcept;
  // Work-groups that read `count` elements.
  [[nodiscard]] std::uint64_t groups(std::uint64_t count) const noexcept;
  // Words that are cleared before the first pass: what is known, and the counts.
  [[nodiscard]] std::size_t counting_words() const noexcept;
};
// For `rows` rows of `count` elements.
Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t rows = 1, std::uint64_t count = most_elements);

// Places of a sample between a place, which has `part` of the elements below it, and its bound.
double reach(double samples, double part);

// The bounds of two neighbouring places.
struct Bounds {
  std::uint32_t samples = 0;  // 0: none
  std::uint32_t lower = 0;    // places in the order of the sample
  std::uint32_t upper = 0;
  std::uint32_t has = 0;       // 1: a lower one, 2: an upper one
  std::uint64_t capacity = 0;  // of the list of what is between them
};
// The places lie between the bounds but for once in 10^5, and more keys than `capacity` even less often: then the
// passes go over all elements. `capacity` depends on `count` alone.
Bounds bounds(const Plan& plan, std::uint64_t count, std::uint64_t place0, std::uint64_t place1);

}  // namespace masu::selection_plan

// SPDX-License-Identifier: Apache-2.0
// What to launch for a weighted histogram on a device, and the constants of weighted_histogram.cl beside those of
// histogram_plan.h.
#pragma once

#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_rule.h"
#include "histogram/weighted_sums.h"
#include "runtime/define.h"

#include <masu/device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu::weighted_plan {

// A digit of 16 bits in a 32-bit word takes this many weights before its carry must be moved on: with the rest of a
// carry before, and one that comes from the digit below, it stays below 2^31.
inline constexpr unsigned word_weights = 32766;
// A work-group takes fewer elements than this in a launch: the highest digit of a table only takes carries.
inline constexpr std::uint64_t group_elements = std::uint64_t{1} << 30;
// The weights that tell where the digits of a table should lie.
inline constexpr unsigned sampled = 1 << 14;
// One weight in so many of those may lie outside of the narrow table.
inline constexpr unsigned outliers = 1 << 10;
// So many copies of a table leave equal values few banks to wait for.
inline constexpr unsigned enough_copies = 8;
// Launches before the first of their descriptions of tables is used again: more than wait on several streams.
inline constexpr std::uint32_t descriptions = 1024;

// How a work-group's table in local memory is cut: `digits` digits a slot, 2^copies_log copies. No digits: there is no
// table, every weight is added to the totals in global memory.
struct Layout {
  unsigned digits = 0;
  unsigned copies_log = 0;
  [[nodiscard]] std::uint64_t words(std::uint64_t slots) const noexcept { return (slots * digits) << copies_log; }
  // As the kernels take it, with the number of its lowest digit.
  [[nodiscard]] std::uint32_t description(unsigned lowest) const noexcept {
    return lowest | digits << 12 | copies_log << 24;
  }
};

// `wide` is for any weights. `narrow`, where there is one, has more copies, for weights whose exponents lie close
// together; the weights decide.
struct Tables {
  Layout wide;
  std::optional<Layout> narrow;
};
Tables tables_for(const DeviceInfo& device, const WeightFormat& format, std::uint64_t slots);

// What the plan chooses on other devices. For tests.
struct Trial {
  Tables tables;
  unsigned group = 32;
  unsigned groups = 2;
  unsigned unroll = 2;
};

struct Plan {
  histogram_plan::Plan base;  // of how slots are found
  WeightFormat format;
  Tables tables;

  [[nodiscard]] std::vector<runtime::Define> defines(const DeviceInfo& device, std::span<const SlotRule> columns,
                                                     bool joint) const;
  // Words of local memory of a work-group.
  [[nodiscard]] std::uint64_t local_words(std::uint64_t slots) const noexcept;
  // Work-groups that share a row of `elements` elements, of which there are `rows`.
  [[nodiscard]] std::uint32_t parts_for(std::uint64_t elements, std::uint64_t rows) const noexcept;
  // The plan of the kernel that looks at the weights before.
  [[nodiscard]] Plan window() const;
};

// The kernel of weighted_round.cl: sums of a format, where `listed` slots are gathered from others; its groups, and the
// words of 32 bits of a number.
inline constexpr std::array<std::string_view, 2> rounding_files{"src/sum/sum_number.cl",
                                                                "src/histogram/device/weighted_round.cl"};
std::vector<runtime::Define> rounding_defines(const DeviceInfo& device, const WeightFormat& format, bool listed);
unsigned rounding_group(const DeviceInfo& device);
unsigned rounding_groups(const DeviceInfo& device);
unsigned rounding_words(const WeightFormat& format);

Plan make(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, const WeightFormat& format,
          bool clamp);

}  // namespace masu::weighted_plan

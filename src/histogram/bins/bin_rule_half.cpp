// SPDX-License-Identifier: Apache-2.0
// f16 data: it has so few values that a table of all of them decides.
#include "histogram/bins/bin_rule.h"
#include "runtime/half.h"

#include <cmath>
#include <limits>

namespace masu {

namespace {

constexpr unsigned patterns = 1U << 16;
constexpr unsigned sign_bit = 0x8000;
constexpr unsigned infinity_bits = 0x7c00;

// The bit pattern of the value of a rank: -infinity has rank 0, both zeros have one.
constexpr std::uint16_t pattern_of(unsigned rank) noexcept {
  return static_cast<std::uint16_t>(rank < infinity_bits ? sign_bit | (infinity_bits - rank) : rank - infinity_bits);
}
constexpr unsigned ranks = 2 * infinity_bits + 1;

}  // namespace

std::vector<std::uint32_t> BinRule::half_slots() const {
  std::vector<std::uint32_t> slots(patterns);
  for (unsigned bits = 0; bits < patterns; ++bits) {
    slots[bits] = static_cast<std::uint32_t>(slot(runtime::to_double(Half{static_cast<std::uint16_t>(bits)})));
  }
  return slots;
}

std::optional<Thresholds<float>> half_thresholds(const BinRule& rule) {
  const std::vector<std::uint32_t> slots = rule.half_slots();
  Thresholds<float> result;
  bool reached = false;  // the first edge
  bool inside = false;   // a bin
  bool past = false;     // the last edge
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const std::uint16_t bits = pattern_of(rank);
    const auto value = static_cast<float>(runtime::to_double(Half{bits}));
    const std::uint64_t slot = slots[bits];
    if (slot == rule.n + slot_below) {
      if (reached) return std::nullopt;
      continue;
    }
    if (!reached) result.first = value;
    reached = true;
    if (slot == rule.n + slot_above) {
      result.lower.resize(rule.n, value);
      past = true;
      continue;
    }
    if (past || result.lower.size() > slot + 1) return std::nullopt;
    result.lower.resize(slot + 1, value);
    result.last = value;
    inside = true;
  }
  result.all_below = !reached;
  result.reachable = result.lower.size();
  if (reached && !inside) {  // what lies before the first edge is below, all else above
    constexpr float infinity = std::numeric_limits<float>::infinity();
    result.all_above = result.first == -infinity;
    result.last = std::nextafter(result.first, -infinity);
  }
  return result;
}

}  // namespace masu

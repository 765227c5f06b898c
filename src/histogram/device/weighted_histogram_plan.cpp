// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/weighted_histogram_plan.h"

#include <algorithm>
#include <bit>

namespace masu::weighted_plan {

namespace {

// OpenCL drivers keep a few bytes of local memory for themselves (NVIDIA 580: 4; 2026-11).
std::uint64_t table_limit(const DeviceInfo& device) {
  const std::uint64_t reserved = device.kind == DeviceKind::opencl ? 64 : 0;
  return (device.local_bytes - std::min(reserved, device.local_bytes)) / sizeof(std::uint32_t);
}

// As many copies as fit; no digits where not even one does.
Layout layout(std::uint64_t limit, std::uint64_t slots, unsigned digits, unsigned most_copies) {
  const std::uint64_t copies = std::min<std::uint64_t>(std::bit_floor(limit / (slots * digits)), most_copies);
  if (copies == 0) return {};
  return {digits, static_cast<unsigned>(std::bit_width(copies)) - 1};
}

}  // namespace

Tables tables_for(const DeviceInfo& device, const WeightFormat& format, std::uint64_t slots) {
  const std::uint64_t limit = table_limit(device);
  const unsigned most_copies = device.gpu ? histogram_plan::banks : 1;
  Tables tables{layout(limit, slots, format.digits(), most_copies), std::nullopt};
  const bool enough = tables.wide.digits != 0 && (!device.gpu || (1U << tables.wide.copies_log) >= enough_copies);
  // Two places of the lowest digit of a weight, and the digit for carries; more while they cost no copies.
  const unsigned least = format.touched() + 2;
  if (enough || least >= format.digits()) return tables;
  Layout narrow = layout(limit, slots, least, most_copies);
  if (narrow.digits == 0) return tables;
  while (narrow.digits < format.digits() && Layout{narrow.digits + 1, narrow.copies_log}.words(slots) <= limit) {
    ++narrow.digits;
  }
  if (narrow.digits < format.digits()) tables.narrow = narrow;
  return tables;
}

std::vector<runtime::Define> Plan::defines(const DeviceInfo& device, std::span<const SlotRule> columns,
                                           bool joint) const {
  std::vector<runtime::Define> result = base.defines(device, columns, joint);
  const std::vector<runtime::Define> own{{"MASU_WEIGHT_BYTES", size_of(format.weights)},
                                         {"MASU_WEIGHT_FLOAT", is_float(format.weights)},
                                         {"MASU_WEIGHT_SIGNED", is_signed(format.weights)},
                                         {"MASU_SQUARED", format.squared},
                                         {"MASU_DIGITS", format.digits()},
                                         {"MASU_TOUCHED", format.touched()},
                                         {"MASU_WORD_WEIGHTS", word_weights},
                                         {"MASU_SAMPLED", sampled},
                                         {"MASU_OUTLIERS", outliers},
                                         {"MASU_INFINITY", fixed::has_infinity},
                                         {"MASU_MINUS_INFINITY", fixed::has_minus_infinity},
                                         {"MASU_NAN", fixed::has_nan}};
  result.insert(result.end(), own.begin(), own.end());
  return result;
}

std::uint64_t Plan::local_words(std::uint64_t slots) const noexcept {
  const std::uint64_t narrow = tables.narrow ? tables.narrow->words(slots) : 0;
  return std::max<std::uint64_t>({tables.wide.words(slots), narrow, 1});
}

std::uint32_t Plan::parts_for(std::uint64_t elements, std::uint64_t rows) const noexcept {
  const std::uint64_t at_a_time = std::uint64_t{base.group} * base.unroll;
  const std::uint64_t busy = (elements + at_a_time - 1) / at_a_time;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(busy, 1, std::max<std::uint64_t>(1, base.groups / rows)));
}

namespace {
// Words of zeros below a number, so that its 53 highest bits are bits of words.
constexpr unsigned words_below = 2;
}  // namespace

unsigned rounding_words(const WeightFormat& format) {
  // A total of the highest digit has 64 bits.
  return words_below + format.digits() / 2 + 3;
}

unsigned rounding_group(const DeviceInfo& device) {
  return device.gpu ? std::bit_floor(std::max(1U, std::min(64U, device.max_work_group_size))) : 1;
}

unsigned rounding_groups(const DeviceInfo& device) {
  return std::max(1U, device.compute_units) * (device.gpu ? 16 : 2);
}

std::vector<runtime::Define> rounding_defines(const DeviceInfo& device, const WeightFormat& format, bool listed) {
  return {{"MASU_GROUP", rounding_group(device)},
          {"MASU_FLOAT", 0},  // digits are 16 bits apart
          {"MASU_WORDS", rounding_words(format)},
          {"MASU_BELOW", words_below},
          {"MASU_LOWEST", static_cast<int>(32 * words_below) - format.unit},
          {"MASU_DIGITS", format.digits()},
          {"MASU_WEIGHT_SIGNED", is_signed(format.weights)},
          {"MASU_WHOLE", !is_float(format.weights) && !format.squared},
          {"MASU_LISTED", listed}};
}

Plan Plan::window() const {
  Plan result = *this;
  result.base.kernel = histogram_plan::KernelKind::weighted_window;
  return result;
}

Plan make(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, const WeightFormat& format,
          bool clamp) {
  Plan plan{histogram_plan::make_joint(device, columns, slots, Strategy::global), format,
            tables_for(device, format, slots)};
  plan.base.kernel = histogram_plan::KernelKind::weighted;
  // What is counted by value is moved later.
  plan.base.clamp = clamp && (columns.size() > 1 || columns.front().kind != SlotRule::Kind::bits);
  if (device.gpu) {
    // 32 bytes of each kind in flight.
    const std::size_t widest = std::max(size_of(columns.front().element), size_of(format.weights));
    plan.base.unroll = columns.size() > 2 || widest == 8 ? 4 : 8;
    plan.base.groups = device.compute_units * (plan.local_words(slots) > 1 ? 1 : 2);
  } else {
    // Barriers and atomics are dear on CPUs.
    plan.base.group = 1;
    plan.base.groups = device.compute_units;
  }
  return plan;
}

}  // namespace masu::weighted_plan

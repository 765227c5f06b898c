// SPDX-License-Identifier: Apache-2.0
#include "call/operands.h"
#include "elements/clusters.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_kernels.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace masu::weighted_plan {

namespace {

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
  const bool enough =
      tables.wide.digits != 0 && (!device.gpu || (1U << tables.wide.copies_log) >= histogram_plan::tuned.enough_copies);
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

std::vector<runtime::Define> Plan::defines(const DeviceInfo& device, std::span<const SlotRule> columns) const {
  std::vector<runtime::Define> result = base.defines(device, columns);
  const std::vector<runtime::Define> own{{"MASU_WEIGHT_BYTES", size_of(format.weights)},
                                         {"MASU_WEIGHT_FLOAT", is_float(format.weights)},
                                         {"MASU_WEIGHT_EXPONENT", detail::form_of(format.weights).exponent_bits},
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
  return device.gpu ? work_group(device, 64) : 1;
}

unsigned rounding_groups(const DeviceInfo& device) {
  return std::max(1U, device.compute_units) * (device.gpu ? 16 : 2);
}

std::vector<runtime::Define> rounding_defines(const DeviceInfo& device, const WeightFormat& format) {
  return {{"MASU_GROUP", rounding_group(device)},
          {"MASU_FLOAT", 0},  // digits are 16 bits apart
          {"MASU_WORDS", rounding_words(format)},
          {"MASU_BELOW", words_below},
          {"MASU_LOWEST", static_cast<int>(32 * words_below) - format.unit},
          {"MASU_DIGITS", format.digits()},
          {"MASU_WEIGHT_SIGNED", is_signed(format.weights)},
          {"MASU_WHOLE", !is_float(format.weights) && !format.squared}};
}

Plan Plan::window() const {
  Plan result = *this;
  result.base.kernel = histogram_plan::KernelKind::weighted_window;
  return result;
}

Plan make(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots,
          const WeightFormat& format) {
  Plan plan{histogram_plan::make_joint(device, columns, slots, Strategy::global), format,
            tables_for(device, format, slots)};
  plan.base.kernel = histogram_plan::KernelKind::weighted;
  plan.base.joint = columns.size() > 1;
  if (device.gpu) {
    // 32 bytes of each kind in flight.
    const std::size_t widest = std::max(size_of(columns.front().element), size_of(format.weights));
    plan.base.unroll = columns.size() > 2 || widest == 8 ? histogram_plan::tuned.weighted_unroll / 2
                                                         : histogram_plan::tuned.weighted_unroll;
    plan.base.groups = device.compute_units * (plan.local_words(slots) > 1 ? 1 : 2);
  } else {
    // Barriers and atomics are dear on CPUs.
    plan.base.group = 1;
    plan.base.groups = device.compute_units;
  }
  return plan;
}

}  // namespace masu::weighted_plan

namespace masu {

std::vector<SlotRule> WeightedKernels::columns_of(const Device& device, BinRules rules) {
  if (rules.size() > 1) return joint_slot_rules(device, rules);
  SlotRule one(*rules.front(), device.info());
  one.look_up(*rules.front());
  return {std::move(one)};
}

WeightedKernels::WeightedKernels(const Device& device, std::vector<SlotRule> columns,
                                 std::span<const WeightFormat> formats, const WeightedOptions& options,
                                 std::uint64_t row_elements, const TableUpload& upload,
                                 const std::optional<weighted_plan::Trial>& trial)
    : device_(device),
      options_(options),
      row_elements_(row_elements),
      slots_(columns.size() == 1 ? columns.front().slots : joint_slots(columns)),
      rules_(device, columns, weighted_plan::make(device.info(), columns, slots_, formats.front()).base, upload) {
  std::uint64_t first = 0;
  for (const WeightFormat& format : formats) {
    weighted_plan::Plan plan = weighted_plan::make(device.info(), columns, slots_, format);
    if (trial) {
      plan.tables = trial->tables;
      plan.base.group = trial->group;
      plan.base.groups = trial->groups;
      plan.base.unroll = trial->unroll;
    }
    const auto kernels_of = [&](const weighted_plan::Plan& of) {
      return call::Kernels(device, of.base.files(), of.defines(device.info(), rules_.columns()), of.base.group);
    };
    sums_.push_back(
        {plan, kernels_of(plan), std::nullopt,
         call::Kernels(device, weighted_plan::rounding_files, weighted_plan::rounding_defines(device.info(), format),
                       weighted_plan::rounding_group(device.info())),
         first});
    if (plan.tables.narrow) sums_.back().window = kernels_of(plan.window());
    first += slots_ * options.rows * (format.digits() + 1);
  }
}

std::uint64_t WeightedKernels::totals_bytes() const noexcept {
  const Sums& last = sums_.back();
  return (last.first + slots_ * options_.rows * (last.plan.format.digits() + 1)) * sizeof(std::uint64_t);
}

bool WeightedKernels::has_window() const noexcept {
  return sums_.front().window.has_value() || sums_.back().window.has_value();
}

std::uint64_t WeightedKernels::temporary_bytes(std::uint64_t /*count*/) const {
  return has_window() ? weighted_plan::descriptions * sizeof(std::uint32_t) : 0;
}

void WeightedKernels::launch(Stream& stream, const CountedData& data, std::uint64_t first, std::uint64_t count,
                             std::uint64_t length, std::uint64_t row, const BufferBase& totals,
                             const BufferBase* temporary, std::vector<Event>& launches) {
  // A launch of another stream may still read the description of before.
  const std::uint64_t description = has_window() ? described_++ % weighted_plan::descriptions : 0;
  for (Sums& each : sums_) {
    const weighted_plan::Plan& plan = each.plan;
    const call::At& by = data.arrays.back();
    const call::At weights{by.buffer, by.offset + first * size_of(plan.format.weights)};
    const std::uint32_t wide = plan.tables.wide.description(0);
    const BufferBase& layouts = each.window ? *temporary : totals;
    const std::uint64_t layout =
        each.window ? layouts.byte_offset() / sizeof(std::uint32_t) + description : weighted_plan::no_description;
    if (each.window) {
      launches.push_back(each.window->launch(stream, plan.window().base.kernel_name(), 1, weights, count,
                                             plan.tables.narrow->description(0), wide, call::memory_of(layouts), layout,
                                             call::local<std::uint32_t>(2)));
    }
    const std::uint64_t row_count = count / length;
    const std::uint32_t parts = plan.parts_for(length, row_count);
    const std::uint64_t groups = std::min<std::uint64_t>(row_count * parts, plan.base.groups);
    launches.push_back(
        each.kernels.launch(stream, plan.base.kernel_name(), groups, rules_.input(data.arrays, first, count), weights,
                            length, parts, row * slots_, wide, call::memory_of(layouts), layout,
                            call::memory_of(totals), totals.byte_offset() / sizeof(std::uint64_t) + each.first,
                            call::local<std::uint32_t>(plan.local_words(slots_))));
  }
}

// Parts of rows, and whole rows together.
void WeightedKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals,
                            const BufferBase* temporary, std::vector<Event>& launches) {
  each_row(data.position, row_elements_, data.count, [&](const RowPart& part) {
    // A row is shared by as many groups as there are, but for short ones.
    if (part.rows > 1 && part.length <= weighted_plan::group_elements) {
      return launch(stream, data, part.first, part.rows * part.length, part.length, part.row, totals, temporary,
                    launches);
    }
    part.each_piece(weighted_plan::group_elements, [&](std::uint64_t row, std::uint64_t first, std::uint64_t length) {
      launch(stream, data, first, length, length, row, totals, temporary, launches);
    });
  });
}

void WeightedKernels::collect(std::span<const std::uint64_t> totals, std::span<WeightSums> sums) const {
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const std::size_t words = sums[k].format().digits() + 1;
    for (std::uint64_t slot = 0; slot < slots_ * options_.rows; ++slot) {
      sums[k].add_digits(slot, totals.data() + sums_[k].first + slot * words);
    }
  }
}

void WeightedKernels::round(Stream& stream, std::size_t k, const BufferBase& totals, const Rounded& to) {
  Sums& from = sums_[k];
  const std::uint64_t all = slots_ * options_.rows;
  const std::uint64_t groups = std::min<std::uint64_t>(all, weighted_plan::rounding_groups(device_.info()));
  // What is not wanted gets the place of the sums, and is not written.
  const BufferBase& integers = to.integers != nullptr ? *to.integers : to.sums;
  const BufferBase& status = to.status != nullptr ? *to.status : to.sums;
  const std::uint32_t wanted = (to.integers != nullptr ? 1 : 0) | (to.status != nullptr ? 2 : 0);
  from.rounding.launch(stream, "weighted_round", groups, call::memory_of(totals),
                       totals.byte_offset() / sizeof(std::uint64_t) + from.first, all, to.sums, integers, status,
                       wanted, call::local<std::uint64_t>(weighted_plan::rounding_words(from.plan.format)),
                       call::local<std::uint32_t>(weighted_plan::rounding_words(from.plan.format)),
                       call::local<std::uint32_t>(2 * (from.plan.format.digits() + 1)));
}

}  // namespace masu

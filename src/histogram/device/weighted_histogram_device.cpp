// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/weighted_histogram_device.h"
#include "call/timer.h"

#include "call/staging.h"
#include "histogram/device/device_rules.h"
#include "histogram/histogram_checks.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace masu {

namespace {

std::vector<SlotRule> slot_rules(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules) {
  if (rules.size() > 1) return joint_slot_rules(device, rules);
  return {SlotRule(*rules.front(), device.info())};
}

// Slots of a row on the device: those of its rule for one column; the cells and two more for several.
std::uint64_t slots_of(std::span<const SlotRule> columns) {
  if (columns.size() == 1) return columns.front().slots;
  std::uint64_t cells = 1;
  for (const SlotRule& column : columns) cells *= column.bins;
  return cells + 2;
}

// Which slot of the rule each slot of the device is.
std::vector<std::uint64_t> rule_slots(std::span<const std::shared_ptr<const BinRule>> rules, std::uint64_t counted) {
  std::vector<std::uint64_t> result(counted);
  const BinRule& rule = *rules.front();
  const bool bits = size_of(rule.dtype) == 1 || (rules.size() == 1 && counted != rule.n + extra_slots);
  if (!bits || rules.size() > 1) {
    std::iota(result.begin(), result.end(), std::uint64_t{0});
  } else if (rule.dtype == Dtype::f16) {
    const std::vector<std::uint32_t> slots = rule.half_slots();
    std::copy(slots.begin(), slots.end(), result.begin());
  } else {  // bytes, and u16 in as many bins as it has values
    for (std::uint64_t i = 0; i < counted; ++i) {
      const auto value = rule.dtype == Dtype::i8 ? static_cast<std::int8_t>(i) : static_cast<std::int64_t>(i);
      result[i] = rule.slot(static_cast<double>(value));
    }
  }
  return result;
}

}  // namespace

struct DeviceWeightedCounter::State {
  // One for the weights, one for their squares.
  struct Sums {
    weighted_plan::Plan plan;
    call::Kernels kernels;
    std::optional<call::Kernels> window;  // nothing where there is one layout only
    Buffer<std::uint64_t> totals;
    Buffer<std::uint32_t> descriptions;  // of the layouts of launches; of the one layout first
  };

  Device device;
  WeightedOptions options;
  std::uint64_t row_elements;
  std::vector<std::uint64_t> slot_of;
  std::uint64_t slots;  // of a row
  std::uint64_t rule_slot_count;
  DeviceRules rules;
  Stream stream;
  std::vector<Sums> sums;
  std::optional<call::Staging> staging;
  std::vector<Event> launches;
  Times times;
  std::uint64_t position = 0;   // elements so far
  std::uint32_t described = 0;  // launches with a description of their own

  State(const Device& on, std::span<const std::shared_ptr<const BinRule>> bin_rules, std::vector<SlotRule> columns,
        std::span<const WeightFormat> formats, const WeightedOptions& asked, std::uint64_t elements,
        const std::optional<weighted_plan::Trial>& trial)
      : device(on),
        options(asked),
        row_elements(elements),
        slot_of(rule_slots(bin_rules, slots_of(columns))),
        slots(slot_of.size()),
        rule_slot_count(bin_rules.size() > 1 ? slots : bin_rules.front()->n + extra_slots),
        rules(device, columns, plan_of(columns, formats.front(), {}).base, bin_rules.size() > 1),
        stream(call::timed_stream(device, true)) {
    std::vector<SlotRule> guided;
    for (std::size_t d = 0; d < rules.size(); ++d) guided.push_back(rules.column(d));
    for (const WeightFormat& format : formats) sums.push_back(make_sums(guided, format, trial));
  }

  [[nodiscard]] weighted_plan::Plan plan_of(std::span<const SlotRule> columns, const WeightFormat& format,
                                            const std::optional<weighted_plan::Trial>& trial) const {
    weighted_plan::Plan plan =
        weighted_plan::make(device.info(), columns, slots, format, options.outside == Outside::clamp);
    if (trial) {
      plan.tables = trial->tables;
      plan.base.group = trial->group;
      plan.base.groups = trial->groups;
      plan.base.unroll = trial->unroll;
    }
    return plan;
  }

  [[nodiscard]] Sums make_sums(std::span<const SlotRule> columns, const WeightFormat& format,
                               const std::optional<weighted_plan::Trial>& trial) const {
    const weighted_plan::Plan plan = plan_of(columns, format, trial);
    const auto kernels_of = [&](const weighted_plan::Plan& of) {
      return call::Kernels(device, of.base.files(), of.defines(device.info(), columns, columns.size() > 1),
                           of.base.group);
    };
    Sums made{plan, kernels_of(plan), std::nullopt,
              Buffer<std::uint64_t>(device, slots * options.rows * (format.digits() + 1)),
              Buffer<std::uint32_t>(device, weighted_plan::descriptions)};
    if (plan.tables.narrow) made.window = kernels_of(plan.window());
    made.totals.fill(0);
    made.descriptions.fill(plan.tables.wide.description(0));
    return made;
  }

  // Elements that lie in buffers of the device.
  struct Input {
    std::span<const BufferBase* const> columns;
    std::span<const std::uint64_t> offsets;  // of the columns, then of the weights
    const BufferBase* weights;
  };

  // `count` elements from `first` on, rows of `length`, the first of which is row `row`.
  void launch(Stream& queue, const Input& input, std::uint64_t first, std::uint64_t count, std::uint64_t length,
              std::uint64_t row) {
    std::uint32_t description = 0;
    if (sums.front().window || sums.back().window) {
      // Those of before are done before their descriptions are written over.
      if (described == weighted_plan::descriptions) settle();
      description = described++;
    }
    for (Sums& each : sums) {
      const weighted_plan::Plan& plan = each.plan;
      const call::At weights{*input.weights, input.offsets.back() + first * size_of(plan.format.weights)};
      const KernelArgument layouts(each.descriptions);
      if (each.window) {
        launches.push_back(each.window->launch(queue, plan.window().base.kernel_name(), 1, weights, count,
                                               plan.tables.narrow->description(0), plan.tables.wide.description(0),
                                               layouts, description, call::local<std::uint32_t>(2)));
      }
      call::Arguments elements;
      if (rules.size() == 1) {
        elements = call::Arguments(
            call::At{*input.columns.front(), input.offsets.front() + first * size_of(rules.column(0).element)}, count,
            std::uint64_t{0}, std::uint64_t{0}, static_cast<std::uint32_t>(slots), rules.arguments(0));
      } else {
        elements = call::Arguments(count, static_cast<std::uint32_t>(slots));
        for (std::size_t d = 0; d < rules.size(); ++d) {
          elements.add(call::At{*input.columns[d], input.offsets[d] + first * size_of(rules.column(d).element)});
          elements.add(rules.arguments(d));
        }
      }
      const std::uint64_t row_count = count / length;
      const std::uint32_t parts = plan.parts_for(length, row_count);
      const std::uint64_t groups = std::min<std::uint64_t>(row_count * parts, plan.base.groups);
      launches.push_back(each.kernels.launch(queue, plan.base.kernel_name(), groups, elements, weights, length, parts,
                                             row * slots, layouts, description,
                                             KernelArgument(each.totals, ArgumentType{}),  // two words each to it
                                             call::local<std::uint32_t>(plan.local_words(slots))));
    }
  }

  // The next elements: parts of rows, and whole rows together.
  void add(Stream& queue, const Input& input, std::uint64_t count) {
    for (std::uint64_t first = 0; first < count;) {
      const std::uint64_t row = position / row_elements;
      const std::uint64_t in_row = position % row_elements;
      const std::uint64_t whole_rows = in_row == 0 ? (count - first) / row_elements : 0;
      // A row is shared by as many groups as there are, but for short ones.
      const std::uint64_t most = weighted_plan::group_elements;
      std::uint64_t taken = std::min({row_elements - in_row, count - first, most});
      std::uint64_t length = taken;
      if (whole_rows > 1 && row_elements <= most) {
        taken = whole_rows * row_elements;
        length = row_elements;
      }
      launch(queue, input, first, taken, length, row);
      first += taken;
      position += taken;
    }
  }

  void settle() {
    if (staging) staging->finish();
    stream.finish();
    times.compute += take_seconds(launches);
    described = 0;
  }
};

DeviceWeightedCounter::DeviceWeightedCounter(const Device& device,
                                             std::span<const std::shared_ptr<const BinRule>> rules,
                                             std::span<const WeightFormat> formats, const WeightedOptions& options,
                                             std::uint64_t row_elements)
    : DeviceWeightedCounter(device, rules, formats, options, row_elements, std::nullopt) {}

DeviceWeightedCounter::DeviceWeightedCounter(const Device& device,
                                             std::span<const std::shared_ptr<const BinRule>> rules,
                                             std::span<const WeightFormat> formats, const WeightedOptions& options,
                                             std::uint64_t row_elements,
                                             const std::optional<weighted_plan::Trial>& trial)
    : state_(std::make_unique<State>(device, rules, slot_rules(device, rules), formats, options, row_elements, trial)) {
}

DeviceWeightedCounter::~DeviceWeightedCounter() = default;

void DeviceWeightedCounter::add(std::span<const ArrayView> columns, const ArrayView& weights) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory);
  // All columns of a piece and its weights lie in one buffer, each from a multiple of 16 bytes on.
  std::vector<ArrayView> all(columns.begin(), columns.end());
  all.push_back(weights);
  std::uint64_t element = 0;
  for (const ArrayView& each : all) element += size_of(each.dtype);
  const std::uint64_t most = std::max<std::uint64_t>(1, (s.staging->piece_bytes() - 16 * all.size()) / element);
  for (std::uint64_t first = 0; first < weights.count; first += most) {
    const std::uint64_t length = std::min(most, weights.count - first);
    std::vector<std::span<const std::byte>> pieces;
    for (const ArrayView& each : all) {
      const std::size_t size = size_of(each.dtype);
      pieces.emplace_back(static_cast<const std::byte*>(each.data) + first * size, length * size);
    }
    s.staging->piece(pieces, [&](Stream& queue, const BufferBase& buffer, std::span<const std::uint64_t> offsets) {
      const std::vector<const BufferBase*> buffers(columns.size(), &buffer);
      s.add(queue, {buffers, offsets, &buffer}, length);
    });
  }
  s.staging->release();
}

void DeviceWeightedCounter::add(std::span<const BufferBase* const> columns, const BufferBase& weights,
                                std::uint64_t count, Stream* stream) {
  State& s = *state_;
  std::vector<std::uint64_t> offsets;
  for (const BufferBase* column : columns) offsets.push_back(column->byte_offset());
  offsets.push_back(weights.byte_offset());
  s.add(stream != nullptr ? *stream : s.stream, {columns, offsets, &weights}, count);
  if (stream == nullptr) s.settle();
}

void DeviceWeightedCounter::collect(std::span<WeightSums> sums) const {
  State& s = *state_;
  s.settle();
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const std::vector<std::uint64_t> totals = [&] {
      const call::Timer timer(&s.times, &Times::transfer);
      return s.sums[k].totals.read();
    }();
    const std::size_t words = sums[k].format().digits() + 1;
    for (std::uint64_t row = 0; row < s.options.rows; ++row) {
      for (std::uint64_t slot = 0; slot < s.slots; ++slot) {
        sums[k].add_digits(row * s.rule_slot_count + s.slot_of[slot], totals.data() + (row * s.slots + slot) * words);
      }
    }
  }
}

Times DeviceWeightedCounter::times() const {
  state_->settle();
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

}  // namespace masu

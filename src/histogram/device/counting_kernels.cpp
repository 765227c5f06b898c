// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/slot_kernels.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "runtime/backend.h"

#include <algorithm>
#include <utility>

namespace masu {

using histogram_plan::Plan;

CountedTables CountedTables::one(const Device& device, const BinRule& rule, const HistogramOptions& options) {
  SlotRule column(rule, device.info());
  const Plan plan = histogram_plan::make(device.info(), column, options.channels, options.strategy);
  return {.columns = {std::move(column)}, .plan = plan};
}

CountedTables CountedTables::of_rows(const Device& device, const BinRule& rule, std::uint64_t rows,
                                     std::uint64_t row_elements, const HistogramOptions& options) {
  CountedTables result = one(device, rule, options);
  const SlotRule& column = result.columns.front();
  result.rows = rows;
  result.row_elements = row_elements;
  // Pieces of rows take a strategy that counts one span into any place of the totals.
  if (result.plan.strategy == Strategy::partitioned) {
    if (options.strategy == Strategy::partitioned) {
      throw Error(ErrorCode::unsupported, "row_histograms: strategy partitioned counts one histogram, not rows");
    }
    result.plan = histogram_plan::make(device.info(), column, options.channels, Strategy::global);
  }
  // The guide serves the kernel of whole rows too, which keeps it in global memory.
  result.plan.guide_local = false;
  if (options.strategy != Strategy::automatic) return result;
  result.rows_plan = histogram_plan::make_rows(device.info(), column, options.channels, row_elements);
  if (result.rows_plan) result.rows_plan->cells = result.plan.cells;
  return result;
}

CountedTables CountedTables::joint_one(const Device& device, BinRules rules, const HistogramOptions& options) {
  std::vector<SlotRule> columns = joint_slot_rules(device, rules);
  const Plan plan = histogram_plan::make_joint(device.info(), columns, joint_slots(columns), options.strategy);
  return {.columns = std::move(columns), .plan = plan};
}

TableKernels::TableKernels(const Device& device, CountedTables tables, const TableUpload& upload,
                           const HistogramOptions& options)
    : device_(device),
      options_(options),
      rows_(tables.rows),
      row_elements_(tables.row_elements),
      strategy_((tables.rows_plan ? *tables.rows_plan : tables.plan).strategy),
      plan_(tables.plan),
      rules_(device, std::move(tables.columns), plan_, upload) {
  if (plan_.strategy == Strategy::partitioned)
    partitioner_.emplace(device, rules_, plan_, rules_.slots() * plan_.channels);
  else launcher_.emplace(rules_.program(plan_));
  if (tables.rows_plan) whole_rows_.emplace(rules_.program(*tables.rows_plan));
}

std::uint64_t TableKernels::temporary_bytes(const Plan& plan, std::uint64_t count, const HistogramOptions& options) {
  if (plan.strategy != Strategy::partitioned) return 0;
  return Partitioner::bytes_for(
      plan, std::min(Partitioner::chunk_elements(plan, options), std::max<std::uint64_t>(count, 1)));
}

std::uint64_t TableKernels::temporary_bytes(std::uint64_t count) const {
  return temporary_bytes(plan_, count, options_);
}

call::At TableKernels::place(const CountedData& data, std::uint64_t row, std::uint64_t first) const {
  const call::At& at = data.arrays.front();
  return {at.buffer, at.offset + row * data.pitch + first * size_of(rules_.column(0).element)};
}

void TableKernels::launch(Stream& stream, Launcher& launcher, std::string_view kernel, const call::Arguments& input,
                          std::uint64_t groups, const Target& to, std::vector<Event>& launches) {
  call::Arguments all(input, call::memory_of(to.totals),
                      to.totals.byte_offset() / sizeof(std::uint64_t) + to.row * rules_.slots() * plan_.channels);
  if (launcher.plan.in_tables()) {
    const BufferBase& copied = to.beside != nullptr ? to.beside->from : to.totals;
    const BufferBase& copy = to.beside != nullptr ? to.beside->to : to.totals;
    all.add(call::Arguments(copied, copy, to.beside != nullptr ? copied.size_bytes() : std::uint64_t{0}));
  }
  all.add(rules_.local(launcher.plan));
  launches.push_back(launcher.kernels.launch(stream, kernel, groups, all));
}

void TableKernels::count_rows(Stream& stream, const call::At& from, std::uint64_t count, std::uint64_t rows,
                              std::uint64_t pitch, const Target& to, std::vector<Event>& launches) {
  const Plan& plan = whole_rows_->plan;
  const std::uint64_t groups = (rows + plan.rows_a_group - 1) / plan.rows_a_group;
  launch(stream, *whole_rows_, plan.kernel_name(), rules_.rows_input(from, count, rows, pitch),
         std::min<std::uint64_t>(groups, plan.groups), to, launches);
}

void TableKernels::take_rows_with_pitch() {
  if (whole_rows_) return;
  // A strategy that takes rows with a pitch.
  const Strategy strategy = plan_.strategy == Strategy::packed ? Strategy::global : plan_.strategy;
  Plan plan = histogram_plan::make(device_.info(), rules_.column(0), plan_.channels, strategy, true);
  // The guide was made for the first plan, and serves this one.
  plan.cells = plan_.cells;
  plan.guide_local = plan_.guide_local && plan.guide_local;
  whole_rows_.emplace(rules_.program(plan));
}

void TableKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                         std::vector<Event>& launches) {
  if (data.count == 0 || data.rows == 0) return;
  if (partitioner_) return partition(stream, data, totals, *temporary, launches);
  // A work-group takes whole rows of an image; long ones are for all groups.
  if (data.rows > 1 && data.count <= histogram_plan::tuned.short_row_elements) {
    take_rows_with_pitch();
    const std::uint64_t most = histogram_plan::group_elements / data.count;
    for (std::uint64_t row = 0; row < data.rows; row += most) {
      count_rows(stream, place(data, row, 0), data.count, std::min(most, data.rows - row), data.pitch, {totals},
                 launches);
    }
    return;
  }
  const std::size_t size = size_of(rules_.column(0).element);
  for (std::uint64_t row = 0; row < data.rows; ++row) {
    each_row(data.position, row_elements_, data.count, [&](const RowPart& part) {
      if (part.length == row_elements_ && whole_rows_) {
        return count_rows(stream, place(data, row, part.first), row_elements_, part.rows, row_elements_ * size,
                          {totals, part.row}, launches);
      }
      // No 32-bit count of a work-group overflows in so small pieces.
      part.each_piece(plan_.most_elements(), [&](std::uint64_t of, std::uint64_t first, std::uint64_t length) {
        launch(stream, *launcher_, plan_.kernel_name(),
               data.rows == 1 ? rules_.input(data.arrays, first, length)
                              : rules_.rows_input(place(data, row, first), length, 1, 0),
               plan_.groups_for(length, size), {totals, of}, launches);
      });
    });
  }
}

bool TableKernels::set(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                       std::vector<Event>& launches) {
  const bool one_launch = launcher_ && plan_.in_tables() && row_elements_ == no_row_end && data.count != 0 &&
                          data.rows == 1 && data.count <= plan_.most_elements();
  if (!one_launch) return SlotKernels::set(stream, data, totals, temporary, launches);
  const bool copies =
      data.beside != nullptr && data.beside->from.size_bytes() <= histogram_plan::tuned.most_beside_bytes;
  const Target to{totals, 0, copies ? data.beside : nullptr};
  const call::Arguments input = rules_.input(data.arrays, 0, data.count);
  const std::size_t size = size_of(rules_.column(0).element);
  if (plan_.cluster > 1 && data.count * size <= histogram_plan::tuned.most_cluster_bytes) {
    launch(stream, *launcher_, "histogram_cluster", input, plan_.cluster, to, launches);
  } else {
    call::clear(stream, totals, 0, totals.size_bytes());
    launch(stream, *launcher_, plan_.kernel_name(), input, plan_.groups_for(data.count, size), to, launches);
  }
  return copies;
}

void TableKernels::partition(Stream& stream, const CountedData& data, const BufferBase& totals,
                             const BufferBase& temporary, std::vector<Event>& launches) {
  // Chunks of whole pixels, and of whole rows where there are several; a row that is longer than a chunk is cut.
  const std::uint64_t chunk = Partitioner::elements_in(plan_, temporary.size_bytes()) / plan_.channels * plan_.channels;
  const std::uint64_t whole_rows = std::max<std::uint64_t>(1, chunk / data.count);
  for (std::uint64_t row = 0; row < data.rows; row += whole_rows) {
    const std::uint64_t rows = std::min(whole_rows, data.rows - row);
    for (std::uint64_t first = 0; first < data.count; first += chunk) {
      const std::uint64_t length = std::min(chunk, data.count - first);
      const call::Arguments input = data.rows == 1 ? rules_.input(data.arrays, first, length)
                                                   : rules_.rows_input(place(data, row, first), length * rows, length,
                                                                       rows == 1 ? 0 : data.pitch);
      partitioner_->count(stream, temporary, input, length * rows, totals, launches);
    }
  }
}

// Patterns.

namespace {

SlotRule pattern_rule(const DeviceInfo& device, Dtype dtype) {
  const Dtype bits = size_of(dtype) == 1 ? Dtype::u8 : Dtype::u16;
  return {BinRule(Bins::integers(PatternCounts::patterns_of(dtype)), bits, false), device};
}

}  // namespace

PatternCounts::PatternCounts(const DeviceInfo& device, Dtype dtype, std::uint64_t count)
    : count_(count),
      rule_(pattern_rule(device, dtype)),
      plan_(histogram_plan::make(device, rule_, 1, Strategy::automatic)),
      temporary_(call::aligned(rule_.slots * sizeof(std::uint64_t))),
      bytes_(temporary_ + TableKernels::temporary_bytes(plan_, count, {})) {}

void PatternCounts::count(Stream& stream, const BufferBase& data, const Buffer<std::byte>& memory,
                          std::vector<Event>& launches) {
  const Buffer<std::byte> totals = memory.slice(0, temporary_);
  const Buffer<std::byte> temporary = memory.slice(temporary_, bytes_ - temporary_);
  launches.push_back(call::clear(stream, totals, 0, totals.size_bytes()));
  // These bins have no tables.
  const Buffer<std::byte> filler(memory.device(), memory.memory(), 0, memory.memory()->bytes());
  const call::At at{data, data.byte_offset()};
  TableKernels(memory.device(), {.columns = {std::move(rule_)}, .plan = plan_}, {.filler = &filler})
      .count(stream, {{&at, 1}, count_}, totals, &temporary, launches);
}

}  // namespace masu

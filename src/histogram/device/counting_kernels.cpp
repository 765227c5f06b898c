// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/slot_kernels.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "runtime/backend.h"

#include <algorithm>
#include <utility>

namespace masu {

TableKernels::TableKernels(const Device& device, std::vector<SlotRule> columns, bool joint, std::uint64_t rows,
                           const histogram_plan::Plan& plan, const HistogramOptions& options, const TableUpload& upload)
    : device_(device),
      options_(options),
      rows_(rows),
      slots_(joint ? joint_slots(columns) : columns.front().slots),
      plan_(plan),
      rules_(device, std::move(columns), plan, joint, upload) {
  if (plan_.strategy == Strategy::partitioned) partitioner_.emplace(device, rules_, plan_, slots_ * plan_.channels);
  else kernels_ = rules_.kernels(plan_);
}

std::uint64_t TableKernels::temporary_bytes(const histogram_plan::Plan& plan, std::uint64_t count,
                                            const HistogramOptions& options) {
  if (plan.strategy != Strategy::partitioned) return 0;
  return Partitioner::bytes_for(
      plan, std::min(Partitioner::chunk_elements(plan, options), std::max<std::uint64_t>(count, 1)));
}

std::uint64_t TableKernels::temporary_bytes(std::uint64_t count) const {
  return temporary_bytes(plan_, count, options_);
}

void TableKernels::launch(Stream& stream, const histogram_plan::Plan& plan, call::Kernels& kernels,
                          std::string_view kernel, const call::Arguments& input, std::uint64_t groups,
                          const BufferBase& totals, std::uint64_t row, std::vector<Event>& launches,
                          const CopiedBeside* beside) {
  call::Arguments all(input, call::memory_of(totals),
                      totals.byte_offset() / sizeof(std::uint64_t) + row * slots_ * plan_.channels);
  if (plan.in_tables()) {
    const BufferBase& from = beside != nullptr ? beside->from : totals;
    const BufferBase& to = beside != nullptr ? beside->to : totals;
    all.add(call::Arguments(from, to, beside != nullptr ? from.size_bytes() : std::uint64_t{0}));
  }
  all.add(rules_.local(plan));
  launches.push_back(kernels.launch(stream, kernel, groups, all));
}

call::Arguments TableKernels::rows_at(const call::At& data, std::uint64_t count, std::uint64_t rows,
                                      std::uint64_t pitch) const {
  return call::Arguments(data, count, rows, pitch, static_cast<std::uint32_t>(slots_), rules_.arguments(0));
}

CountingKernels::CountingKernels(const Device& device, SlotRule rule, const histogram_plan::Plan& plan,
                                 const TableUpload& upload, const HistogramOptions& options)
    : TableKernels(device, {std::move(rule)}, false, 1, plan, options, upload) {}

void CountingKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals,
                            const BufferBase* temporary, std::vector<Event>& launches) {
  if (data.count == 0 || data.rows == 0) return;
  const call::At& at = data.arrays.front();
  if (partitioner_) return partition(stream, data, totals, *temporary, launches);
  // A work-group takes whole rows; long ones are for all groups.
  if (data.rows == 1 || data.count > histogram_plan::tuned.short_row_elements) {
    const std::uint64_t most = plan_.most_elements();
    for (std::uint64_t row = 0; row < data.rows; ++row) {
      for (std::uint64_t first = 0; first < data.count; first += most) {
        const std::uint64_t length = std::min(most, data.count - first);
        const call::At from{at.buffer, at.offset + row * data.pitch + first * element_bytes()};
        launch(stream, plan_, *kernels_, plan_.kernel_name(), rows_at(from, length, 1, 0),
               plan_.groups_for(length, element_bytes()), totals, 0, launches);
      }
    }
    return;
  }
  RowsLauncher& launcher = for_rows();
  const std::uint64_t most = histogram_plan::group_elements / data.count;
  for (std::uint64_t first = 0; first < data.rows; first += most) {
    const std::uint64_t length = std::min(most, data.rows - first);
    const call::At from{at.buffer, at.offset + first * data.pitch};
    launch(stream, launcher.plan, launcher.kernels, launcher.plan.kernel_name(),
           rows_at(from, data.count, length, data.pitch), std::min<std::uint64_t>(length, launcher.plan.groups), totals,
           0, launches);
  }
}

CountingKernels::RowsLauncher& CountingKernels::for_rows() {
  if (pitched_) return *pitched_;
  // A strategy that takes rows with a pitch.
  const Strategy strategy = plan_.strategy == Strategy::packed ? Strategy::global : plan_.strategy;
  histogram_plan::Plan plan = histogram_plan::make(device_.info(), rules_.column(0), plan_.channels, strategy, true);
  // The guide was made for the first plan, and serves this one.
  plan.cells = plan_.cells;
  plan.guide_local = plan_.guide_local && plan.guide_local;
  return pitched_.emplace(RowsLauncher{plan, rules_.kernels(plan)});
}

bool CountingKernels::set(Stream& stream, const CountedData& data, const BufferBase& totals,
                          const BufferBase* temporary, std::vector<Event>& launches) {
  const bool one_launch =
      kernels_ && plan_.in_tables() && data.count != 0 && data.rows == 1 && data.count <= plan_.most_elements();
  if (!one_launch) return SlotKernels::set(stream, data, totals, temporary, launches);
  const bool copies =
      data.beside != nullptr && data.beside->from.size_bytes() <= histogram_plan::tuned.most_beside_bytes;
  const CopiedBeside* const beside = copies ? data.beside : nullptr;
  const call::Arguments input = rows_at(data.arrays.front(), data.count, 1, 0);
  const std::size_t size = element_bytes();
  if (plan_.cluster > 1 && data.count * size <= histogram_plan::tuned.most_cluster_bytes) {
    launch(stream, plan_, *kernels_, "histogram_cluster", input, plan_.cluster, totals, 0, launches, beside);
  } else {
    call::clear(stream, totals, 0, totals.size_bytes());
    launch(stream, plan_, *kernels_, plan_.kernel_name(), input, plan_.groups_for(data.count, size), totals, 0,
           launches, beside);
  }
  return copies;
}

void CountingKernels::partition(Stream& stream, const CountedData& data, const BufferBase& totals,
                                const BufferBase& temporary, std::vector<Event>& launches) {
  const call::At& at = data.arrays.front();
  // Chunks of whole pixels, and of whole rows where there are several; a row that is longer than a chunk is cut.
  const std::uint64_t chunk = Partitioner::elements_in(plan_, temporary.size_bytes()) / plan_.channels * plan_.channels;
  const std::uint64_t whole_rows = std::max<std::uint64_t>(1, chunk / data.count);
  for (std::uint64_t row = 0; row < data.rows; row += whole_rows) {
    const std::uint64_t row_length = std::min(whole_rows, data.rows - row);
    for (std::uint64_t first = 0; first < data.count; first += chunk) {
      const std::uint64_t length = std::min(chunk, data.count - first);
      const call::At from{at.buffer, at.offset + row * data.pitch + first * element_bytes()};
      const call::Arguments input(from, length * row_length, length, row_length == 1 ? std::uint64_t{0} : data.pitch,
                                  static_cast<std::uint32_t>(slots_), rules_.arguments(0));
      partitioner_->count(stream, temporary, input, length * row_length, totals, launches);
    }
  }
}

// Joint histograms.

namespace {

histogram_plan::Plan plan_of_joint(const Device& device, std::span<const SlotRule> columns,
                                   const HistogramOptions& options) {
  histogram_plan::Plan found =
      histogram_plan::make_joint(device.info(), columns, joint_slots(columns), options.strategy);
  found.clamp = options.outside == Outside::clamp;
  return found;
}

}  // namespace

JointKernels::JointKernels(const Device& device, std::vector<SlotRule> columns, const HistogramOptions& options,
                           const TableUpload& upload)
    : TableKernels(device, columns, true, 1, plan_of_joint(device, columns, options), options, upload) {}

void JointKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                         std::vector<Event>& launches) {
  const std::uint64_t most =
      partitioner_ ? Partitioner::elements_in(plan_, temporary->size_bytes()) : plan_.most_elements();
  for (std::uint64_t first = 0; first < data.count; first += most) {
    const std::uint64_t length = std::min(most, data.count - first);
    const call::Arguments input = rules_.input(data.arrays, first, length, slots_);
    if (partitioner_) {
      partitioner_->count(stream, *temporary, input, length, totals, launches);
      continue;
    }
    const std::uint64_t items = std::uint64_t{plan_.group} * plan_.unroll;
    const std::uint64_t groups = std::clamp<std::uint64_t>((length + items - 1) / items, 1, plan_.groups);
    launch(stream, plan_, *kernels_, plan_.kernel_name(), input, groups, totals, 0, launches);
  }
}

// One table for each row.

namespace {

// A plan for single rows: of the strategies that count one span into any place of the totals.
histogram_plan::Plan plan_of_rows(const Device& device, const SlotRule& rule, const HistogramOptions& options) {
  histogram_plan::Plan found = histogram_plan::make(device.info(), rule, options.channels, options.strategy);
  if (found.strategy == Strategy::partitioned) {
    if (options.strategy == Strategy::partitioned) {
      throw Error(ErrorCode::unsupported, "row_histograms: strategy partitioned counts one histogram, not rows");
    }
    found = histogram_plan::make(device.info(), rule, options.channels, Strategy::global);
  }
  // The guide serves the kernel of whole rows too, which keeps it in global memory.
  found.guide_local = false;
  return found;
}

}  // namespace

RowKernels::RowKernels(const Device& device, const SlotRule& rule, std::uint64_t rows, std::uint64_t row_elements,
                       const HistogramOptions& options, const TableUpload& upload)
    : TableKernels(device, {rule}, false, rows, plan_of_rows(device, rule, options), options, upload),
      row_elements_(row_elements) {
  if (options.strategy != Strategy::automatic) return;
  rows_plan_ = histogram_plan::make_rows(device.info(), rule, options.channels, row_elements);
  if (!rows_plan_) return;
  rows_plan_->cells = plan_.cells;
  rows_kernels_ = rules_.kernels(*rows_plan_);
}

Strategy RowKernels::strategy() const noexcept {
  return rows_plan_ ? rows_plan_->strategy : plan_.strategy;
}

// The rest of a row, whole rows, the beginning of a row.
void RowKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals,
                       const BufferBase* /*temporary*/, std::vector<Event>& launches) {
  const std::size_t size = element_bytes();
  const call::At& at = data.arrays.front();
  const std::uint64_t most = plan_.most_elements();
  for (std::uint64_t done = 0; done < data.count;) {
    const std::uint64_t row = (data.position + done) / row_elements_;
    const std::uint64_t in_row = (data.position + done) % row_elements_;
    const std::uint64_t left = data.count - done;
    const std::uint64_t whole = in_row == 0 && rows_plan_ ? left / row_elements_ : 0;
    const call::At from{at.buffer, at.offset + done * size};
    if (whole != 0) {
      const std::uint64_t groups = (whole + rows_plan_->rows_a_group - 1) / rows_plan_->rows_a_group;
      launch(stream, *rows_plan_, *rows_kernels_, rows_plan_->kernel_name(),
             rows_at(from, row_elements_, whole, row_elements_ * size),
             std::min<std::uint64_t>(groups, rows_plan_->groups), totals, row, launches);
      done += whole * row_elements_;
      continue;
    }
    const std::uint64_t length = std::min({left, row_elements_ - in_row, most});
    launch(stream, plan_, *kernels_, plan_.kernel_name(), rows_at(from, length, 1, 0), plan_.groups_for(length, size),
           totals, row, launches);
    done += length;
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
      bytes_(temporary_ + CountingKernels::temporary_bytes(plan_, count, {})) {}

void PatternCounts::count(Stream& stream, const BufferBase& data, const Buffer<std::byte>& memory,
                          std::vector<Event>& launches) {
  const Buffer<std::byte> totals = memory.slice(0, temporary_);
  const Buffer<std::byte> temporary = memory.slice(temporary_, bytes_ - temporary_);
  launches.push_back(call::clear(stream, totals, 0, totals.size_bytes()));
  // These bins have no tables.
  const Buffer<std::byte> filler(memory.device(), memory.memory(), 0, memory.memory()->bytes());
  const call::At at{data, data.byte_offset()};
  CountingKernels(memory.device(), std::move(rule_), plan_, {.filler = &filler})
      .count(stream, {{&at, 1}, count_}, totals, &temporary, launches);
}

}  // namespace masu

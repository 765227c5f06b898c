// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/counting_kernels.h"

#include <algorithm>
#include <utility>

namespace masu {

CountingKernels::CountingKernels(const Device& device, SlotRule rule, const histogram_plan::Plan& plan,
                                 const TableUpload& upload, const HistogramOptions& options)
    : device_(device), options_(options), plan_(plan), rules_(device, {std::move(rule)}, plan, false, upload) {
  if (plan_.strategy == Strategy::partitioned) {
    partitioner_.emplace(device, rules_, plan_, slots() * plan_.channels);
  } else {
    span_ = Launcher{plan_, rules_.kernels(plan_)};
  }
}

std::uint64_t CountingKernels::temporary_bytes(const histogram_plan::Plan& plan, std::uint64_t count,
                                               const HistogramOptions& options) {
  if (plan.strategy != Strategy::partitioned) return 0;
  return Partitioner::bytes_for(
      plan, std::min(Partitioner::chunk_elements(plan, options), std::max<std::uint64_t>(count, 1)));
}

std::uint64_t CountingKernels::totals_bytes() const noexcept {
  return slots() * plan_.channels * sizeof(std::uint64_t);
}

std::uint64_t CountingKernels::temporary_bytes(std::uint64_t count) const {
  return temporary_bytes(plan_, count, options_);
}

bool CountingKernels::one_at_a_time() const noexcept {
  return plan_.strategy == Strategy::sequential || partitioner_.has_value();
}

void CountingKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals,
                            const BufferBase* temporary, std::vector<Event>& launches) {
  if (data.count == 0 || data.rows == 0) return;
  const call::At& at = data.arrays.front();
  if (partitioner_) return partition(stream, {at, data.count, data.rows, data.pitch}, totals, *temporary, launches);
  const std::size_t size = size_of(rule().element);
  // A work-group takes whole rows; long ones are for all groups.
  if (data.rows == 1 || data.count > histogram_plan::short_row_elements) {
    const std::uint64_t most = plan_.most_elements();
    for (std::uint64_t row = 0; row < data.rows; ++row) {
      for (std::uint64_t first = 0; first < data.count; first += most) {
        const std::uint64_t length = std::min(most, data.count - first);
        launch(stream, *span_, plan_.kernel_name(),
               {{at.buffer, at.offset + row * data.pitch + first * size}, length, 1, 0}, plan_.groups_for(length, size),
               totals, launches);
      }
    }
    return;
  }
  Launcher& launcher = for_rows();
  const std::uint64_t most = histogram_plan::group_elements / data.count;
  for (std::uint64_t first = 0; first < data.rows; first += most) {
    const std::uint64_t length = std::min(most, data.rows - first);
    launch(stream, launcher, launcher.plan.kernel_name(),
           {{at.buffer, at.offset + first * data.pitch}, data.count, length, data.pitch},
           std::min<std::uint64_t>(length, launcher.plan.groups), totals, launches);
  }
}

CountingKernels::Launcher& CountingKernels::for_rows() {
  if (rows_) return *rows_;
  // A strategy that takes rows with a pitch.
  const Strategy strategy = plan_.strategy == Strategy::packed ? Strategy::global : plan_.strategy;
  histogram_plan::Plan plan = histogram_plan::make(device_.info(), rule(), plan_.channels, strategy, true);
  // The guide was made for the first plan, and serves this one.
  plan.cells = plan_.cells;
  plan.guide_local = plan_.guide_local && plan.guide_local;
  return rows_.emplace(Launcher{plan, rules_.kernels(plan)});
}

bool CountingKernels::set(Stream& stream, const CountedData& data, const BufferBase& totals,
                          const BufferBase* temporary, std::vector<Event>& launches) {
  const std::size_t size = size_of(rule().element);
  const bool one_launch =
      span_ && span_->plan.in_tables() && data.count != 0 && data.rows == 1 && data.count <= plan_.most_elements();
  if (!one_launch) return SlotKernels::set(stream, data, totals, temporary, launches);
  const bool copies = data.beside != nullptr && data.beside->from.size_bytes() <= histogram_plan::most_beside_bytes;
  const CopiedBeside* const beside = copies ? data.beside : nullptr;
  const Span span{data.arrays.front(), data.count, 1, 0};
  if (plan_.cluster > 1 && data.count * size <= histogram_plan::most_cluster_bytes) {
    launch(stream, *span_, "histogram_cluster", span, plan_.cluster, totals, launches, beside);
  } else {
    call::clear(stream, totals, 0, totals.size_bytes());
    launch(stream, *span_, span_->plan.kernel_name(), span, plan_.groups_for(data.count, size), totals, launches,
           beside);
  }
  return copies;
}

call::Arguments CountingKernels::arguments(const Span& data, const BufferBase& totals) const {
  return call::Arguments(data.data, data.count, data.rows, data.pitch, static_cast<std::uint32_t>(slots()),
                         rules_.arguments(0), call::memory_of(totals), totals.byte_offset() / sizeof(std::uint64_t));
}

void CountingKernels::launch(Stream& stream, Launcher& launcher, std::string_view kernel, const Span& data,
                             std::uint64_t groups, const BufferBase& totals, std::vector<Event>& launches,
                             const CopiedBeside* beside) {
  call::Arguments all = arguments(data, totals);
  if (launcher.plan.in_tables()) {
    const BufferBase& from = beside != nullptr ? beside->from : totals;
    const BufferBase& to = beside != nullptr ? beside->to : totals;
    all.add(call::Arguments(from, to, beside != nullptr ? from.size_bytes() : std::uint64_t{0}));
  }
  all.add(rules_.local(launcher.plan));
  launches.push_back(launcher.kernels.launch(stream, kernel, groups, all));
}

void CountingKernels::partition(Stream& stream, const Span& data, const BufferBase& totals, const BufferBase& temporary,
                                std::vector<Event>& launches) {
  const std::size_t size = size_of(rule().element);
  // Chunks of whole pixels, and of whole rows where there are several; a row that is longer than a chunk is cut.
  const std::uint64_t chunk = Partitioner::elements_in(plan_, temporary.size_bytes()) / plan_.channels * plan_.channels;
  const std::uint64_t whole_rows = std::max<std::uint64_t>(1, chunk / data.count);
  for (std::uint64_t row = 0; row < data.rows; row += whole_rows) {
    const std::uint64_t row_length = std::min(whole_rows, data.rows - row);
    for (std::uint64_t first = 0; first < data.count; first += chunk) {
      const std::uint64_t length = std::min(chunk, data.count - first);
      const call::Arguments input(call::At{data.data.buffer, data.data.offset + row * data.pitch + first * size},
                                  length * row_length, length, row_length == 1 ? std::uint64_t{0} : data.pitch,
                                  static_cast<std::uint32_t>(slots()), rules_.arguments(0));
      partitioner_->count(stream, temporary, input, length * row_length, totals, launches);
    }
  }
}

}  // namespace masu

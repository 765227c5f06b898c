// SPDX-License-Identifier: Apache-2.0
// One table for each row.
#include "histogram/device/counting_kernels.h"

#include <algorithm>
#include <utility>

namespace masu {

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

RowKernels::RowKernels(const Device& device, SlotRule rule, std::uint64_t rows, std::uint64_t row_elements,
                       const HistogramOptions& options, const TableUpload& upload)
    : row_count_(rows),
      row_elements_(row_elements),
      plan_(plan_of_rows(device, rule, options)),
      rows_plan_(options.strategy == Strategy::automatic
                     ? histogram_plan::make_rows(device.info(), rule, options.channels, row_elements)
                     : std::nullopt),
      rules_(device, {std::move(rule)}, plan_, false, upload),
      kernels_(rules_.kernels(plan_)) {
  if (!rows_plan_) return;
  rows_plan_->cells = plan_.cells;
  rows_kernels_ = rules_.kernels(*rows_plan_);
}

Strategy RowKernels::strategy() const noexcept {
  return rows_plan_ ? rows_plan_->strategy : plan_.strategy;
}

std::uint64_t RowKernels::totals_bytes() const noexcept {
  return row_count_ * plan_.channels * slots() * sizeof(std::uint64_t);
}

// The rest of a row, whole rows, the beginning of a row.
void RowKernels::count(Stream& stream, const CountedData& data, const BufferBase& totals,
                       const BufferBase* /*temporary*/, std::vector<Event>& launches) {
  const std::size_t size = size_of(rules_.column(0).element);
  const call::At& at = data.arrays.front();
  const std::uint64_t most = plan_.most_elements();
  for (std::uint64_t done = 0; done < data.count;) {
    const std::uint64_t row = (data.position + done) / row_elements_;
    const std::uint64_t in_row = (data.position + done) % row_elements_;
    const std::uint64_t left = data.count - done;
    const std::uint64_t whole = in_row == 0 && rows_plan_ ? left / row_elements_ : 0;
    const histogram_plan::Plan& plan = whole != 0 ? *rows_plan_ : plan_;
    const std::uint64_t length = whole != 0 ? row_elements_ : std::min({left, row_elements_ - in_row, most});
    const std::uint64_t rows = std::max<std::uint64_t>(whole, 1);
    call::Arguments all(call::At{at.buffer, at.offset + done * size}, length, rows,
                        whole != 0 ? row_elements_ * size : std::uint64_t{0}, static_cast<std::uint32_t>(slots()),
                        rules_.arguments(0), call::memory_of(totals),
                        totals.byte_offset() / sizeof(std::uint64_t) + row * slots() * plan_.channels);
    if (plan.in_tables()) all.add(call::Arguments(totals, totals, std::uint64_t{0}));  // nothing to copy beside
    all.add(rules_.local(plan));
    launches.push_back((whole != 0 ? *rows_kernels_ : kernels_)
                           .launch(stream, plan.kernel_name(),
                                   whole != 0 ? std::min<std::uint64_t>(
                                                    (whole + plan.rows_a_group - 1) / plan.rows_a_group, plan.groups)
                                              : plan.groups_for(length, size),
                                   all));
    done += length * rows;
  }
}

}  // namespace masu

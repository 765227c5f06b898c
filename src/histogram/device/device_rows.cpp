// SPDX-License-Identifier: Apache-2.0
// One table for each row, on a device.
#include "histogram/device/histogram_device.h"

#include "call/staging.h"
#include "histogram/device/device_rules.h"

#include <algorithm>
#include <span>

namespace masu {

struct DeviceRowCounter::State {
  Device device;
  HistogramOptions options;
  std::uint64_t rows;
  std::uint64_t row_elements;
  histogram_plan::Plan plan;                      // of pieces of rows
  std::optional<histogram_plan::Plan> rows_plan;  // of whole rows
  DeviceRules rules;
  std::uint64_t slots;  // of one channel
  call::Kernels kernels;
  std::optional<call::Kernels> rows_kernels;
  Stream stream;
  Buffer<std::uint64_t> counts;
  std::optional<call::Staging> staging;
  std::vector<Event> launches;
  Times times;
  std::uint64_t position = 0;  // elements so far

  State(const Device& on, SlotRule rule, std::uint64_t row_count, std::uint64_t elements, const HistogramOptions& asked)
      : device(on),
        options(asked),
        rows(row_count),
        row_elements(elements),
        plan(plan_of(on, rule, asked)),
        rows_plan(asked.strategy == Strategy::automatic
                      ? histogram_plan::make_rows(on.info(), rule, asked.channels, elements)
                      : std::nullopt),
        rules(device, {std::move(rule)}, plan, false),
        slots(rules.column(0).slots),
        kernels(rules.kernels(plan)),
        stream(call::timed_stream(device, true)),
        counts(device, rows * asked.channels * slots) {
    counts.fill(0);
    if (rows_plan) {
      rows_plan->cells = plan.cells;
      rows_kernels = rules.kernels(*rows_plan);
    }
  }

  // A plan for single rows: of the strategies that count one span into any place of the totals.
  static histogram_plan::Plan plan_of(const Device& on, const SlotRule& rule, const HistogramOptions& asked) {
    histogram_plan::Plan found = histogram_plan::make(on.info(), rule, asked.channels, asked.strategy);
    if (found.strategy == Strategy::partitioned) {
      if (asked.strategy == Strategy::partitioned) {
        throw Error(ErrorCode::unsupported, "row_histograms: strategy partitioned counts one histogram, not rows");
      }
      found = histogram_plan::make(on.info(), rule, asked.channels, Strategy::global);
    }
    // The guide serves the kernel of whole rows too, which keeps it in global memory.
    found.guide_local = false;
    return found;
  }

  void launch(Stream& queue, const histogram_plan::Plan& with, call::Kernels& of, const BufferBase& data,
              std::uint64_t offset, std::uint64_t count, std::uint64_t row_count, std::uint64_t pitch,
              std::uint64_t first_total, std::uint64_t groups) {
    launches.push_back(of.launch(queue, with.kernel_name(), groups, call::At{data, offset}, count, row_count, pitch,
                                 static_cast<std::uint32_t>(slots), rules.arguments(0),
                                 KernelArgument(counts, ArgumentType{}),  // two words each to the kernel
                                 first_total, rules.local(with)));
    if (with.strategy == Strategy::sequential) queue.finish();
  }

  // A part of one row.
  void launch_part(Stream& queue, const BufferBase& data, std::uint64_t offset, std::uint64_t count) {
    const std::size_t size = size_of(rules.column(0).element);
    const std::uint64_t first_total = position / row_elements * slots * options.channels;
    const std::uint64_t most =
        histogram_plan::group_elements * plan.groups / plan.split / plan.channels * plan.channels;
    for (std::uint64_t first = 0; first < count; first += most) {
      const std::uint64_t length = std::min(most, count - first);
      launch(queue, plan, kernels, data, offset + first * size, length, 1, 0, first_total,
             plan.groups_for(length, size));
    }
    position += count;
  }

  // The next elements: the rest of a row, whole rows, the beginning of a row.
  void add(Stream& queue, const BufferBase& data, std::uint64_t offset, std::uint64_t count) {
    const std::size_t size = size_of(rules.column(0).element);
    while (count > 0) {
      const std::uint64_t in_row = position % row_elements;
      const std::uint64_t whole_rows = in_row == 0 && rows_plan ? count / row_elements : 0;
      std::uint64_t taken = std::min(count, row_elements - in_row);
      if (whole_rows > 0) {
        taken = whole_rows * row_elements;
        launch(queue, *rows_plan, *rows_kernels, data, offset, row_elements, whole_rows, row_elements * size,
               position / row_elements * slots * options.channels,
               std::min<std::uint64_t>(whole_rows, rows_plan->groups));
        position += taken;
      } else {
        launch_part(queue, data, offset, taken);
      }
      offset += taken * size;
      count -= taken;
    }
  }

  void settle() {
    if (staging) staging->finish();
    stream.finish();
    times.compute += take_seconds(launches);
  }
};

DeviceRowCounter::DeviceRowCounter(const Device& device, const BinRule& rule, std::uint64_t rows,
                                   std::uint64_t row_elements, const HistogramOptions& options)
    : state_(std::make_unique<State>(device, SlotRule(rule, device.info()), rows, row_elements, options)) {}

DeviceRowCounter::~DeviceRowCounter() = default;

void DeviceRowCounter::add(const ArrayView& data) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory / 2);
  const std::size_t size = size_of(data.dtype);
  const std::uint64_t most = s.staging->piece_bytes() / (size * s.options.channels) * s.options.channels;
  const auto* from = static_cast<const std::byte*>(data.data);
  for (std::uint64_t first = 0; first < data.count;) {
    // Pieces end where rows end, where a row fits.
    const std::uint64_t left = s.row_elements - s.position % s.row_elements;
    std::uint64_t length = std::min(most, data.count - first);
    if (length > left) length = left + (length - left) / s.row_elements * s.row_elements;
    const std::span piece(from + first * size, length * size);
    s.staging->piece({&piece, 1},
                     [&](Stream& queue, const BufferBase& buffer, auto) { s.add(queue, buffer, 0, length); });
    first += length;
  }
  s.staging->release();
}

void DeviceRowCounter::add(const BufferBase& data, std::uint64_t count) {
  State& s = *state_;
  s.add(s.stream, data, data.byte_offset(), count);
  s.settle();
}

std::vector<std::uint64_t> DeviceRowCounter::totals() const {
  state_->settle();
  return state_->counts.read();
}

Times DeviceRowCounter::times() const {
  state_->settle();
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

Strategy DeviceRowCounter::strategy() const noexcept {
  return state_->rows_plan ? state_->rows_plan->strategy : state_->plan.strategy;
}

std::uint64_t DeviceRowCounter::slots() const noexcept {
  return state_->slots;
}

}  // namespace masu

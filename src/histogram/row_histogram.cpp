// SPDX-License-Identifier: Apache-2.0
// One histogram for each of many rows: the public functions.
#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/histogram_checks.h"

#include <masu/row_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace masu {

namespace {

ArrayView part(const ArrayView& data, std::uint64_t first, std::uint64_t count) {
  return {data.dtype, static_cast<const char*>(data.data) + first * size_of(data.dtype), count};
}

Buffer<const std::byte> part(const BufferBase& data, Dtype dtype, std::uint64_t first, std::uint64_t count) {
  const std::size_t size = size_of(dtype);
  return {data.device(), data.memory(), data.byte_offset() + first * size, count * size};
}

void check_rows(std::uint64_t rows, std::uint64_t row_elements, unsigned channels) {
  if (rows < 1 || rows > most_rows)
    call::refuse(rows_name, fmt::format("rows must be 1 to {}, got {}", most_rows, rows));
  if (row_elements % channels != 0) {
    call::refuse(rows_name,
                 fmt::format("{} channels must divide the elements of a row, got {}", channels, row_elements));
  }
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(rows, row_elements, &elements)) {
    call::refuse(rows_name, fmt::format("rows and their elements must be fewer than 2^64 elements, got {} x {}", rows,
                                        row_elements));
  }
}

}  // namespace

std::shared_ptr<const BinRule> checked_row_rule(Dtype dtype, const Bins& bins, std::uint64_t rows,
                                                std::uint64_t row_elements, const HistogramOptions& options) {
  check_channels(rows_name, options.channels);
  check_rows(rows, row_elements, options.channels);
  auto rule = std::make_shared<const BinRule>(bins, dtype, options.right_open);
  if (rule->n > most_row_counters / (rows * options.channels)) {
    call::refuse(rows_name, fmt::format("rows * channels * bins must be at most 2^33, got {} * {} * {}", rows,
                                        options.channels, rule->n));
  }
  return rule;
}

struct RowHistogramAccumulator::State : AccumulatorState {
  std::shared_ptr<const BinRule> rule;
  HistogramOptions options;
  std::uint64_t rows;
  std::uint64_t row_elements;
  std::uint64_t position = 0;  // elements so far
  std::vector<std::uint64_t> counts{};
  std::vector<std::uint64_t> outside{};
  std::unique_ptr<cpu::RowCounter> here{};
  // A pixel that a piece has cut: its first elements, until the others come.
  std::vector<std::byte> pixel{};

  [[nodiscard]] std::uint64_t tables() const noexcept { return rows * options.channels; }
  [[nodiscard]] std::uint64_t counters() const noexcept { return tables() * rule->n; }

  // How many elements complete the pixel that was cut, or are left when nothing was.
  [[nodiscard]] std::uint64_t missing() const noexcept {
    return pixel.empty() ? 0 : options.channels - pixel.size() / size_of(rule->dtype);
  }

  void check_left(std::uint64_t count) {
    const std::uint64_t left = rows * row_elements - position;
    if (count > left) {
      call::refuse(rows_name,
                   fmt::format("{} rows of {} elements have {} left, got {}", rows, row_elements, left, count));
    }
  }

  void count_pixels(const ArrayView& data) {
    if (data.count == 0) return;
    if (counter) return counter->add({&data, 1});
    count_here([&] { here->add(data); });
  }

  // Elements of a cut pixel.
  void take(const void* data, std::uint64_t count) {
    if (count == 0) return;
    const auto* bytes = static_cast<const std::byte*>(data);
    pixel.insert(pixel.end(), bytes, bytes + count * size_of(rule->dtype));
    if (missing() != 0) return;
    // Copied: the pixel is empty again even if counting fails.
    const std::vector<std::byte> whole = std::exchange(pixel, {});
    count_pixels(ArrayView(rule->dtype, whole.data(), options.channels));
  }

  // Splits elements at the pixels that they cut: part_of(first, count) is taken, pixels(first, count) counted.
  template <class Take, class Pixels>
  void split(std::uint64_t count, const Take& take_part, const Pixels& pixels) {
    check_left(count);
    const std::uint64_t head = std::min(missing(), count);
    take_part(0, head);
    const std::uint64_t middle = (count - head) / options.channels * options.channels;
    if (middle != 0) pixels(head, middle);
    take_part(head + middle, count - head - middle);
    position += count;
  }
};

RowHistogramAccumulator::RowHistogramAccumulator(const Device& device, Dtype dtype, const Bins& bins,
                                                 std::uint64_t rows, std::uint64_t row_elements,
                                                 const HistogramOptions& options) {
  const FloatingPointScope usual;
  const auto rule = checked_row_rule(dtype, bins, rows, row_elements, options);
  state_ = std::make_unique<State>(State{{device}, rule, options, rows, row_elements});
  State& s = *state_;
  const bool on_device = !call::on_cpu(device);
  // The totals and the result. A device's totals are read into memory of their own.
  const std::uint64_t slots = on_device ? histogram_plan::slots_of(*rule) : rule->n + extra_slots;
  const std::uint64_t bytes = s.tables() * (slots + rule->n + extra_slots) * sizeof(std::uint64_t);
  check_memory(rows_name, s.counters(), bytes);
  if (on_device) {
    const auto kernels = [&](const TableUpload& upload) {
      return std::make_unique<RowKernels>(device, SlotRule(*rule, device.info()), rows, row_elements, options, upload);
    };
    s.counter = std::make_unique<DeviceCounter>(device, kernels, options.memory / 2);
    return;
  }
  s.counts = zeros_for(s.counters(), rows_name, s.counters(), bytes);
  s.outside = zeros_for(s.tables() * extra_slots, rows_name, s.counters(), bytes);
  s.here =
      std::make_unique<cpu::RowCounter>(rule, row_elements, options.channels, options.strategy, s.counts, s.outside);
}

RowHistogramAccumulator::RowHistogramAccumulator(RowHistogramAccumulator&&) noexcept = default;
RowHistogramAccumulator& RowHistogramAccumulator::operator=(RowHistogramAccumulator&&) noexcept = default;
RowHistogramAccumulator::~RowHistogramAccumulator() = default;

void RowHistogramAccumulator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(rows_name, s.rule->dtype, data.dtype);
  s.split(
      data.count, [&](std::uint64_t first, std::uint64_t count) { s.take(part(data, first, count).data, count); },
      [&](std::uint64_t first, std::uint64_t count) { s.count_pixels(part(data, first, count)); });
}

void RowHistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_device(rows_name, s.device, data);
  if (call::on_cpu(s.device)) return add(call::host_view(data, dtype));
  call::check_dtype(rows_name, s.rule->dtype, dtype);
  s.split(
      data.size_bytes() / size_of(dtype),
      [&](std::uint64_t first, std::uint64_t count) {
        if (count != 0) s.take(part(data, dtype, first, count).read().data(), count);
      },
      [&](std::uint64_t first, std::uint64_t count) {
        const Buffer<const std::byte> pixels = part(data, dtype, first, count);
        const call::At at{pixels, pixels.byte_offset()};
        s.counter->add({{&at, 1}, count}, nullptr);
      });
}

RowHistograms RowHistogramAccumulator::result() const try {
  const FloatingPointScope usual;
  const State& s = *state_;
  const BinRule& rule = *s.rule;
  detail::Counts result{
      s.counts, s.outside, rule.dtype, s.counter ? s.counter->strategy() : s.here->strategy(), {s.rule}};
  if (s.counter) {
    result.bins.resize(s.counters());
    result.outside.resize(s.tables() * extra_slots);
    const std::vector<std::uint64_t> totals = s.counter->totals();
    const std::uint64_t counted = totals.size() / s.tables();
    std::vector<std::uint64_t> slots(rule.n + extra_slots);
    for (std::uint64_t t = 0; t < s.tables(); ++t) {
      std::fill(slots.begin(), slots.end(), 0);
      histogram_plan::fold_slots(rule, std::span(totals).subspan(t * counted, counted), slots);
      std::copy_n(slots.begin(), rule.n, result.bins.begin() + static_cast<std::ptrdiff_t>(t * rule.n));
      std::copy_n(slots.end() - extra_slots, extra_slots,
                  result.outside.begin() + static_cast<std::ptrdiff_t>(t * extra_slots));
    }
  }
  if (!s.pixel.empty()) {
    // The elements of a cut pixel belong to the first channels of their row.
    const std::uint64_t size = size_of(rule.dtype);
    const std::uint64_t known = s.pixel.size() / size;
    const std::uint64_t table = (s.position - known) / s.row_elements * s.options.channels;
    cpu::RowCounter rest(s.rule, known, static_cast<unsigned>(known), Strategy::sequential,
                         std::span(result.bins).subspan(table * rule.n, known * rule.n),
                         std::span(result.outside).subspan(table * extra_slots, known * extra_slots));
    rest.add(ArrayView(rule.dtype, s.pixel.data(), known));
  }
  if (s.options.outside == Outside::clamp) {
    for (std::uint64_t t = 0; t < s.tables(); ++t) {
      std::uint64_t* counts = result.bins.data() + t * rule.n;
      std::uint64_t* outside = result.outside.data() + t * extra_slots;
      counts[0] += std::exchange(outside[slot_below], 0);
      counts[rule.n - 1] += std::exchange(outside[slot_above], 0);
    }
  }
  return {std::move(result), s.rows, s.options.channels};
} catch (const std::bad_alloc&) {
  no_memory(rows_name, state_->counters(), state_->counters() * sizeof(std::uint64_t));
}

Times RowHistogramAccumulator::times() const {
  return state_->all_times();
}

namespace {

std::uint64_t row_elements_of(std::uint64_t elements, std::uint64_t rows, const HistogramOptions& options) {
  check_channels(rows_name, options.channels);
  if (rows < 1 || rows > most_rows)
    call::refuse(rows_name, fmt::format("rows must be 1 to {}, got {}", most_rows, rows));
  if (elements % (rows * options.channels) != 0) {
    call::refuse(rows_name, fmt::format("{} rows of {} channels must divide the elements, got {}", rows,
                                        options.channels, elements));
  }
  return elements / rows;
}

}  // namespace

RowHistograms row_histograms(const Device& device, const ArrayView& data, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options) {
  const std::uint64_t row_elements = row_elements_of(data.count, rows, options);
  const Bins definite = definite_bins(device, data, bins);
  RowHistogramAccumulator accumulator(device, data.dtype, definite, rows, row_elements, options);
  accumulator.add(data);
  return accumulator.result();
}

RowHistograms row_histograms(const BufferBase& data, Dtype dtype, std::uint64_t rows, const Bins& bins,
                             const HistogramOptions& options) {
  const std::uint64_t row_elements = row_elements_of(data.size_bytes() / size_of(dtype), rows, options);
  const Bins definite = definite_bins(data, dtype, bins);
  RowHistogramAccumulator accumulator(data.device(), dtype, definite, rows, row_elements, options);
  accumulator.add_buffer(data, dtype);
  return accumulator.result();
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// One histogram for each of many rows: the public functions.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/device/histogram_device.h"
#include "histogram/device/histogram_plan.h"
#include "histogram/histogram_checks.h"

#include <masu/row_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace masu {

namespace {

constexpr std::uint64_t most_rows = std::uint64_t{1} << 20;
constexpr std::uint64_t most_counters = std::uint64_t{1} << 33;

[[noreturn]] void rows_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", rows_name, message));
}

ArrayView part(const ArrayView& data, std::uint64_t first, std::uint64_t count) {
  return {data.dtype, static_cast<const char*>(data.data) + first * size_of(data.dtype), count};
}

Buffer<const std::byte> part(const BufferBase& data, Dtype dtype, std::uint64_t first, std::uint64_t count) {
  const std::size_t size = size_of(dtype);
  return {data.device(), data.memory(), data.byte_offset() + first * size, count * size};
}

void check_rows(std::uint64_t rows, std::uint64_t row_elements, unsigned channels) {
  if (rows < 1 || rows > most_rows) rows_invalid(fmt::format("rows must be 1 to {}, got {}", most_rows, rows));
  if (row_elements % channels != 0) {
    rows_invalid(fmt::format("{} channels must divide the elements of a row, got {}", channels, row_elements));
  }
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(rows, row_elements, &elements)) {
    rows_invalid(
        fmt::format("rows and their elements must be fewer than 2^64 elements, got {} x {}", rows, row_elements));
  }
}

}  // namespace

std::shared_ptr<const BinRule> checked_row_rule(Dtype dtype, const Bins& bins, std::uint64_t rows,
                                                std::uint64_t row_elements, const HistogramOptions& options) {
  check_channels(rows_name, options.channels);
  check_rows(rows, row_elements, options.channels);
  auto rule = std::make_shared<const BinRule>(bins, dtype, options.right_open);
  if (rule->n > most_counters / (rows * options.channels)) {
    rows_invalid(
        fmt::format("rows * channels * bins must be at most 2^33, got {} * {} * {}", rows, options.channels, rule->n));
  }
  return rule;
}

std::uint64_t RowHistograms::index(std::uint64_t row, unsigned channel) const {
  if (row >= rows_ || channel >= channels_) {
    call::refuse("RowHistograms",
                 fmt::format("row must be < {} and channel < {}, got {} and {}", rows_, channels_, row, channel));
  }
  return row * channels_ + channel;
}

std::span<const std::uint64_t> RowHistograms::counts(std::uint64_t row, unsigned channel) const {
  return std::span(counts_).subspan(index(row, channel) * size_, size_);
}

std::uint64_t RowHistograms::below(std::uint64_t row, unsigned channel) const {
  return outside_[index(row, channel) * extra_slots + slot_below];
}

std::uint64_t RowHistograms::above(std::uint64_t row, unsigned channel) const {
  return outside_[index(row, channel) * extra_slots + slot_above];
}

std::uint64_t RowHistograms::nan(std::uint64_t row, unsigned channel) const {
  return outside_[index(row, channel) * extra_slots + slot_nan];
}

Histogram RowHistograms::histogram(std::uint64_t row, unsigned channel) const {
  Histogram result;
  const std::span<const std::uint64_t> from = counts(row, channel);
  result.counts_.assign(from.begin(), from.end());
  result.below_ = below(row, channel);
  result.above_ = above(row, channel);
  result.nan_ = nan(row, channel);
  result.dtype_ = dtype_;
  result.strategy_ = strategy_;
  result.rule_ = rule_;
  return result;
}

std::vector<double> RowHistograms::edges() const {
  std::vector<double> result(size_ + 1);
  for (std::uint64_t i = 0; i < result.size(); ++i) result[i] = rule_->edge(i);
  return result;
}

namespace {

constexpr call::StateName rows_state{"RowHistograms", "MROW"};

std::string text_of(const RowHistograms& h, const std::string& bins) {
  return fmt::format("{} rows of {} channels and {}", h.rows(), h.channels(), bins);
}

}  // namespace

void RowHistograms::merge(const RowHistograms& other) {
  if (rows_ != other.rows_ || channels_ != other.channels_ || !rule_->same_edges(*other.rule_)) {
    call::refuse("RowHistograms::merge",
                 fmt::format("both must have as many rows and channels, and the same edges, got {} "
                             "and {}",
                             text_of(*this, rule_->text(*other.rule_)), text_of(other, other.rule_->text(*rule_))));
  }
  (void)call::elements_of_both("RowHistograms::merge", call::total_of_counts({counts_, outside_}),
                               call::total_of_counts({other.counts_, other.outside_}));
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  for (std::size_t i = 0; i < outside_.size(); ++i) outside_[i] += other.outside_[i];
}

bool operator==(const RowHistograms& a, const RowHistograms& b) {
  return a.rows_ == b.rows_ && a.channels_ == b.channels_ && a.counts_ == b.counts_ && a.outside_ == b.outside_ &&
         a.rule_->same_edges(*b.rule_);
}

std::vector<std::byte> RowHistograms::bytes() const {
  call::StateWriter to(rows_state);
  to.dtype(dtype_);
  rule_->write(to);
  to.number(rows_);
  to.number(channels_, 1);
  to.numbers(outside_);
  to.numbers(counts_);
  return to.finish();
}

RowHistograms RowHistograms::from_bytes(std::span<const std::byte> bytes) {
  call::StateReader from(rows_state, bytes);
  RowHistograms h;
  h.dtype_ = from.dtype();
  h.rule_ = BinRule::read(from, h.dtype_, false);
  h.size_ = h.rule_->n;
  h.rows_ = from.below(most_rows + 1);
  h.channels_ = static_cast<unsigned>(from.below(most_channels + 1, 1));
  from.require(h.rows_ >= 1 && h.channels_ >= 1 && h.size_ <= most_counters / (h.rows_ * h.channels_));
  h.outside_ = from.numbers(h.rows_ * h.channels_ * extra_slots);
  h.counts_ = from.numbers(h.rows_ * h.channels_ * h.size_);
  from.end();
  from.require(call::total_of_counts({h.counts_, h.outside_}) <= call::most_in_state);
  return h;
}

std::vector<std::int64_t> RowHistograms::integers() const {
  std::vector<std::int64_t> result(counts_.begin(), counts_.end());
  result.insert(result.end(), outside_.begin(), outside_.end());
  return result;
}

RowHistograms RowHistograms::with_integers(std::span<const std::int64_t> integers) const {
  check_integers("RowHistograms", counts_.size() + outside_.size(), integers);
  RowHistograms h = *this;
  const auto middle = integers.begin() + static_cast<std::ptrdiff_t>(counts_.size());
  std::copy(integers.begin(), middle, h.counts_.begin());
  std::copy(middle, integers.end(), h.outside_.begin());
  return h;
}

struct RowHistogramAccumulator::State {
  Device device;
  std::shared_ptr<const BinRule> rule;
  HistogramOptions options;
  std::uint64_t rows;
  std::uint64_t row_elements;
  std::uint64_t position = 0;  // elements so far
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> outside;
  std::unique_ptr<cpu::RowCounter> here;
  std::unique_ptr<DeviceCounter> counter;
  // A pixel that a piece has cut: its first elements, until the others come.
  std::vector<std::byte> pixel;
  Times times;

  [[nodiscard]] std::uint64_t tables() const noexcept { return rows * options.channels; }
  [[nodiscard]] std::uint64_t counters() const noexcept { return tables() * rule->n; }

  // How many elements complete the pixel that was cut, or are left when nothing was.
  [[nodiscard]] std::uint64_t missing() const noexcept {
    return pixel.empty() ? 0 : options.channels - pixel.size() / size_of(rule->dtype);
  }

  void check_left(std::uint64_t count) {
    const std::uint64_t left = rows * row_elements - position;
    if (count > left) {
      rows_invalid(fmt::format("{} rows of {} elements have {} left, got {}", rows, row_elements, left, count));
    }
  }

  void count_pixels(const ArrayView& data) {
    if (data.count == 0) return;
    if (counter) return counter->add({&data, 1});
    const double start = call::now();
    here->add(data);
    times.compute += call::now() - start;
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
  const auto rule = checked_row_rule(dtype, bins, rows, row_elements, options);
  state_ =
      std::make_unique<State>(State{device, rule, options, rows, row_elements, 0, {}, {}, nullptr, nullptr, {}, {}});
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
  try {
    s.counts.resize(s.counters());
    s.outside.resize(s.tables() * extra_slots);
  } catch (const std::bad_alloc&) {
    no_memory(rows_name, s.counters(), bytes);
  }
  s.here =
      std::make_unique<cpu::RowCounter>(rule, row_elements, options.channels, options.strategy, s.counts, s.outside);
}

RowHistogramAccumulator::RowHistogramAccumulator(RowHistogramAccumulator&&) noexcept = default;
RowHistogramAccumulator& RowHistogramAccumulator::operator=(RowHistogramAccumulator&&) noexcept = default;
RowHistogramAccumulator::~RowHistogramAccumulator() = default;

void RowHistogramAccumulator::add(const ArrayView& data) {
  State& s = *state_;
  call::check_dtype(rows_name, s.rule->dtype, data.dtype);
  s.split(
      data.count, [&](std::uint64_t first, std::uint64_t count) { s.take(part(data, first, count).data, count); },
      [&](std::uint64_t first, std::uint64_t count) { s.count_pixels(part(data, first, count)); });
}

void RowHistogramAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
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
  const State& s = *state_;
  const BinRule& rule = *s.rule;
  RowHistograms result;
  result.rows_ = s.rows;
  result.channels_ = s.options.channels;
  result.size_ = rule.n;
  result.dtype_ = rule.dtype;
  result.strategy_ = s.counter ? s.counter->strategy() : s.here->strategy();
  result.rule_ = s.rule;
  result.counts_ = s.counts;
  result.outside_ = s.outside;
  if (s.counter) {
    result.counts_.resize(s.counters());
    result.outside_.resize(s.tables() * extra_slots);
    const std::vector<std::uint64_t> totals = s.counter->totals();
    const std::uint64_t counted = totals.size() / s.tables();
    std::vector<std::uint64_t> slots(rule.n + extra_slots);
    for (std::uint64_t t = 0; t < s.tables(); ++t) {
      std::fill(slots.begin(), slots.end(), 0);
      histogram_plan::fold_slots(rule, std::span(totals).subspan(t * counted, counted), slots);
      std::copy_n(slots.begin(), rule.n, result.counts_.begin() + static_cast<std::ptrdiff_t>(t * rule.n));
      std::copy_n(slots.end() - extra_slots, extra_slots,
                  result.outside_.begin() + static_cast<std::ptrdiff_t>(t * extra_slots));
    }
  }
  if (!s.pixel.empty()) {
    // The elements of a cut pixel belong to the first channels of their row.
    const std::uint64_t size = size_of(rule.dtype);
    const std::uint64_t known = s.pixel.size() / size;
    const std::uint64_t table = (s.position - known) / s.row_elements * s.options.channels;
    cpu::RowCounter rest(s.rule, known, static_cast<unsigned>(known), Strategy::sequential,
                         std::span(result.counts_).subspan(table * rule.n, known * rule.n),
                         std::span(result.outside_).subspan(table * extra_slots, known * extra_slots));
    rest.add(ArrayView(rule.dtype, s.pixel.data(), known));
  }
  if (s.options.outside == Outside::clamp) {
    for (std::uint64_t t = 0; t < s.tables(); ++t) {
      std::uint64_t* counts = result.counts_.data() + t * rule.n;
      std::uint64_t* outside = result.outside_.data() + t * extra_slots;
      counts[0] += std::exchange(outside[slot_below], 0);
      counts[rule.n - 1] += std::exchange(outside[slot_above], 0);
    }
  }
  return result;
} catch (const std::bad_alloc&) {
  no_memory(rows_name, state_->counters(), state_->counters() * sizeof(std::uint64_t));
}

Times RowHistogramAccumulator::times() const {
  return state_->counter ? state_->counter->times() : state_->times;
}

namespace {

std::uint64_t row_elements_of(std::uint64_t elements, std::uint64_t rows, const HistogramOptions& options) {
  check_channels(rows_name, options.channels);
  if (rows < 1 || rows > most_rows) rows_invalid(fmt::format("rows must be 1 to {}, got {}", most_rows, rows));
  if (elements % (rows * options.channels) != 0) {
    rows_invalid(
        fmt::format("{} rows of {} channels must divide the elements, got {}", rows, options.channels, elements));
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

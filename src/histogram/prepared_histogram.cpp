// SPDX-License-Identifier: Apache-2.0
// Counting that only gives work to a stream, and the forms that are this and a read.
#include "call/launcher.h"
#include "call/operands.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/bins/definite_bins.h"
#include "histogram/device/counting_kernels.h"
#include "histogram/histogram_checks.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace masu {

namespace {

constexpr std::size_t total_bytes = sizeof(std::uint64_t);

// What the kernels count, and the slot of the bins that each of its slots stands for; none where they are the same.
struct Counted {
  BinRule rule;
  std::vector<std::uint32_t> slot_of;
};

double greatest(Dtype dtype) {
  constexpr double greatest_half = 65504;
  if (dtype == Dtype::f16) return greatest_half;
  if (dtype == Dtype::f32) return std::numeric_limits<float>::max();
  return dtype == Dtype::f64 ? std::numeric_limits<double>::max() : 0;
}

// Kernels take for granted that some value reaches the bins. Where none does, all finite ones lie on one side: one bin
// of the outermost of them tells it from infinity on that side.
Counted counted(const BinRule& rule) {
  if (reaches_bins(rule)) return {rule, {}};
  const auto slot_of = [&](double x) { return static_cast<std::uint32_t>(rule.slot(x)); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::uint32_t finite = slot_of(0);
  const bool below = finite == rule.n + slot_below;
  const double outermost = below ? greatest(rule.dtype) : -greatest(rule.dtype);
  const bool floats = is_float(rule.dtype);
  return {BinRule(Bins::edges({outermost, outermost}), rule.dtype, false),
          {finite, below || !floats ? finite : slot_of(-infinity), below && floats ? slot_of(infinity) : finite,
           static_cast<std::uint32_t>(rule.n + slot_nan)}};
}

}  // namespace

struct PreparedHistogram::State {
  Device device;
  Bins bins;
  std::shared_ptr<const BinRule> rule;
  HistogramOptions options;
  Strategy used = Strategy::sequential;
  std::optional<CountingKernels> kernels;  // none on `cpu`
  std::optional<call::Kernels> fold;
  Buffer<std::uint32_t> slot_of;  // for totals that are folded, else empty

  State(const Device& on, Dtype dtype, const Bins& given, const HistogramOptions& asked)
      : device(on),
        bins(given),
        rule(std::make_shared<const BinRule>(given, dtype, asked.right_open)),
        options(asked),
        slot_of(device, 0) {
    options.workspace = nullptr;
    if (call::on_cpu(device)) return;
    Counted what = counted(*rule);
    SlotRule slots(what.rule, device.info());
    const histogram_plan::Plan plan = histogram_plan::make(device.info(), slots, options.channels, options.strategy);
    used = plan.strategy;
    kernels.emplace(device, std::move(slots), plan, TableUpload{});
    if (what.slot_of.empty()) what.slot_of = histogram_plan::slots_by_value(*rule, kernels->slots());
    if (!what.slot_of.empty()) slot_of = device.upload(what.slot_of);
    if (folds() || clamps()) {
      fold.emplace(device, histogram_plan::fold_files, histogram_plan::fold_defines(device.info()),
                   histogram_plan::fold_group(device.info()));
    }
  }

  [[nodiscard]] bool folds() const noexcept { return slot_of.size() != 0; }
  [[nodiscard]] bool clamps() const noexcept { return options.outside == Outside::clamp; }
  [[nodiscard]] std::uint64_t numbers() const noexcept { return (rule->n + extra_slots) * options.channels; }
  [[nodiscard]] std::uint64_t folded_bytes() const { return folds() ? call::aligned(kernels->totals_bytes()) : 0; }
  [[nodiscard]] std::uint64_t temporary_bytes(std::uint64_t count) const {
    return CountingKernels::temporary_bytes(kernels->plan(), count, options);
  }

  void enqueue(Stream& stream, const BufferBase& data, std::uint64_t count, const BufferBase& counts,
               const Buffer<std::byte>& room) {
    std::vector<Event> launches;
    call::clear(stream, counts, 0, counts.size_bytes());
    const Buffer<std::byte> temporary = room.slice(folded_bytes(), room.size_bytes() - folded_bytes());
    const CountedData counted{data, data.byte_offset(), count};
    if (!folds()) {
      kernels->count(stream, counted, counts, &temporary, launches);
    } else {
      const Buffer<std::byte> by_value = room.slice(0, kernels->totals_bytes());
      call::clear(stream, by_value, 0, by_value.size_bytes());
      kernels->count(stream, counted, by_value, &temporary, launches);
      const std::uint64_t group = histogram_plan::fold_group(device.info());
      fold->launch(stream, "histogram_fold", (kernels->slots() + group - 1) / group, call::memory_of(by_value),
                   by_value.byte_offset() / total_bytes, static_cast<std::uint32_t>(kernels->slots()),
                   KernelArgument(slot_of), options.channels, rule->n, call::memory_of(counts),
                   counts.byte_offset() / total_bytes);
    }
    if (clamps()) {
      fold->launch(stream, "histogram_clamp", 1, options.channels, rule->n, call::memory_of(counts),
                   counts.byte_offset() / total_bytes);
    }
  }

  // On `cpu`.
  void count_here(const BufferBase& data, const BufferBase& counts) const {
    HistogramAccumulator accumulator(device, rule->dtype, bins, options);
    accumulator.add(call::host_view(data, rule->dtype));
    auto* target = reinterpret_cast<std::uint64_t*>(call::host_address(counts));
    for (const Histogram& found : accumulator.result()) {
      target = std::ranges::copy(found.counts(), target).out;
      *target++ = found.below();
      *target++ = found.above();
      *target++ = found.nan();
    }
  }
};

PreparedHistogram::PreparedHistogram(const Device& device, Dtype dtype, const Bins& bins,
                                     const HistogramOptions& options) {
  check_channels("histogram", options.channels);
  state_ = std::make_unique<State>(device, dtype, bins, options);
}

PreparedHistogram::PreparedHistogram(PreparedHistogram&&) noexcept = default;
PreparedHistogram& PreparedHistogram::operator=(PreparedHistogram&&) noexcept = default;
PreparedHistogram::~PreparedHistogram() = default;

std::uint64_t PreparedHistogram::size() const noexcept {
  return state_->rule->n;
}

Dtype PreparedHistogram::dtype() const noexcept {
  return state_->rule->dtype;
}

const Device& PreparedHistogram::device() const noexcept {
  return state_->device;
}

std::uint64_t PreparedHistogram::workspace(std::uint64_t count) const {
  return state_->kernels ? state_->folded_bytes() + state_->temporary_bytes(count) : 0;
}

std::vector<Histogram> PreparedHistogram::result(std::span<const std::uint64_t> counts) const {
  const State& s = *state_;
  const std::uint64_t n = s.rule->n;
  if (counts.size() != s.numbers()) {
    call::refuse("histogram", fmt::format("{} channels of {} bins must have {} numbers, got {}", s.options.channels, n,
                                          s.numbers(), counts.size()));
  }
  std::vector<Histogram> result(s.options.channels);
  for (std::size_t c = 0; c < result.size(); ++c) {
    const auto numbers = counts.subspan(c * (n + extra_slots), n + extra_slots);
    Histogram& h = result[c];
    h.counts_.assign(numbers.begin(), numbers.end() - extra_slots);
    h.below_ = numbers[n + slot_below];
    h.above_ = numbers[n + slot_above];
    h.nan_ = numbers[n + slot_nan];
    h.dtype_ = s.rule->dtype;
    h.strategy_ = s.used;
    h.rule_ = s.rule;
  }
  return result;
}

Buffer<std::byte> PreparedHistogram::enqueue(Stream& stream, const BufferBase& data, BufferBase& counts,
                                             const BufferBase* workspace) {
  State& s = *state_;
  call::check_device("histogram", s.device, data);
  call::check_stream("histogram", stream, data);
  const std::uint64_t count = call::count_of("histogram", data, s.rule->dtype);
  if (count % s.options.channels != 0) {
    call::refuse("histogram", fmt::format("{} channels must divide the elements, got {}", s.options.channels, count));
  }
  call::check_results("histogram", "counts", counts, s.device, s.numbers(), total_bytes, {&data});
  Buffer<std::byte> room =
      call::take_workspace("histogram", workspace, s.device, this->workspace(count), {&data, &counts});
  if (s.kernels) {
    s.enqueue(stream, data, count, counts, room);
  } else {
    s.count_here(data, counts);
  }
  return room;
}

Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared, BufferBase& counts,
                        const BufferBase* workspace) {
  const auto room = std::make_shared<Buffer<std::byte>>(prepared.enqueue(stream, data, counts, workspace));
  return {stream.record(), [room] {}};
}

void histogram(const BufferBase& data, Dtype dtype, const Bins& bins, BufferBase& counts,
               const HistogramOptions& options) {
  check_one_channel(options);
  PreparedHistogram prepared(data.device(), dtype, definite_bins(data, dtype, bins), options);
  Stream stream = call::timed_stream(data.device(), false);
  histogram(stream, data, prepared, counts, options.workspace).get();
}

Pending<Histogram> histogram(Stream& stream, const BufferBase& data, Dtype dtype, const Bins& bins,
                             const HistogramOptions& options) {
  check_one_channel(options);
  struct Work {
    PreparedHistogram prepared;
    Buffer<std::uint64_t> counts;
    Buffer<std::byte> room;
  };
  PreparedHistogram prepared(data.device(), dtype, bins, options);
  Buffer<std::uint64_t> counts(data.device(), prepared.size() + extra_slots);
  Buffer<std::byte> room = prepared.enqueue(stream, data, counts, options.workspace);
  const auto work = std::make_shared<Work>(Work{std::move(prepared), std::move(counts), std::move(room)});
  return {stream.record(), [work] { return std::move(work->prepared.result(work->counts.read()).front()); }};
}

}  // namespace masu

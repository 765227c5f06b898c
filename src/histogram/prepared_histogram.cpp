// SPDX-License-Identifier: Apache-2.0
// Counting that only gives work to a stream, and the forms that are this and a read: of one histogram, of rows, and of
// several columns together.
#include "call/operands.h"
#include "histogram/counts.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/weighted_state.h"

#include <masu/histogram.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace masu {

PreparedBins::PreparedBins(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
PreparedBins::PreparedBins(PreparedBins&&) noexcept = default;
PreparedBins& PreparedBins::operator=(PreparedBins&&) noexcept = default;
PreparedBins::~PreparedBins() = default;

Dtype PreparedBins::dtype() const noexcept {
  return state_->rules.front()->dtype;
}

const Device& PreparedBins::device() const noexcept {
  return state_->device;
}

std::uint64_t PreparedBins::numbers() const noexcept {
  return state_->numbers;
}

std::uint64_t PreparedBins::workspace(std::uint64_t count) const {
  return state_->kernels ? state_->own_bytes() + state_->kernels->temporary_bytes(count) : 0;
}

PreparedBins::State::Checked PreparedBins::State::check(const Stream& stream, std::span<const BufferBase* const> arrays,
                                                        const Dtype* weights, std::span<const NamedResult> results,
                                                        const BufferBase* workspace) const {
  const std::size_t columns = weights != nullptr ? arrays.size() - 1 : arrays.size();
  check_columns(name, rules.size(), columns);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    call::check_device(name, device, *arrays[i]);
    call::check_stream(name, stream, *arrays[i]);
    const std::uint64_t length = call::count_of(name, *arrays[i], i < columns ? rules[i]->dtype : *weights);
    if (i == 0) count = length;
    if (i < columns) check_lengths(name, count, length);
    else check_weighted_lengths(count, length);
  }
  if (count % channels != 0) {
    call::refuse(name, fmt::format("{} channels must divide the elements, got {}", channels, count));
  }
  if (elements != 0 && count != elements) {
    call::refuse(name, fmt::format("all rows together must have {} elements, got {}", elements, count));
  }
  const auto refuse_overlap = [&](std::string_view a, std::string_view b) {
    call::refuse_overlap(name, fmt::format("{} and {}", a, b));
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NamedResult& result = results[i];
    call::check_results(name, result.name, result.memory, device, result.count, result.element_bytes, {});
    for (const BufferBase* array : arrays) {
      if (call::overlap(result.memory, *array)) refuse_overlap(result.name, "data");
    }
    for (const NamedResult& before : results.first(i)) {
      if (call::overlap(before.memory, result.memory)) refuse_overlap(before.name, result.name);
    }
  }
  const std::uint64_t bytes = kernels ? own_bytes() + kernels->temporary_bytes(count) : 0;
  if (workspace != nullptr) {
    for (const BufferBase* array : arrays) call::check_apart(name, "workspace and data", *workspace, *array);
    for (const NamedResult& result : results) {
      if (call::overlap(*workspace, result.memory)) refuse_overlap("workspace", result.name);
    }
  }
  return {count, call::take_workspace(name, workspace, stream, bytes)};
}

void PreparedBins::State::check_numbers(std::uint64_t got) const {
  if (got != numbers) call::refuse(name, fmt::format("there must be {} numbers, got {}", numbers, got));
}

void PreparedBins::State::count(Stream& stream, std::span<const BufferBase* const> arrays, std::uint64_t count,
                                const BufferBase& totals, const Buffer<std::byte>& room, const CopiedBeside* beside) {
  std::vector<call::At> there;
  for (const BufferBase* array : arrays) there.push_back({*array, array->byte_offset()});
  std::vector<Event> launches;
  const Buffer<std::byte> temporary = room.slice(own_bytes(), room.size_bytes() - own_bytes());
  CountedData data{there, count};
  data.beside = beside;
  const bool copied = kernels->set(stream, data, totals, &temporary, launches);
  if (beside != nullptr && !copied) call::copy(stream, beside->from, beside->to);
}

namespace {

constexpr std::size_t total_bytes = sizeof(std::uint64_t);

// What the kernels leave becomes counts: tables of bins with below, above and NaN after each, or a joint one.
struct CountedState : PreparedBins::State {
  CountShape shape;
  std::optional<call::Kernels> fold{};
  Buffer<std::uint32_t> slot_of;  // of totals by value, else empty
  Strategy used = Strategy::global;

  CountedState(const Device& on, CountShape made)
      : State(made.name, on, made.empty.rules), shape(std::move(made)), slot_of(on, 0) {
    shape.options.workspace = nullptr;
    channels = shape.empty.channels;
    if (shape.empty.kind == detail::CountKind::rows) elements = shape.empty.rows * shape.row_elements;
    numbers = shape.numbers();
    if (call::on_cpu(device)) return;
    kernels = shape.kernels(device, {});
    used = kernels->strategy();
    if (shape.empty.kind == detail::CountKind::joint) return;
    const std::uint64_t slots = kernels->totals_bytes() / total_bytes / shape.tables();
    const std::vector<std::uint32_t> by_value = slots_by_value(shape.rule(), slots);
    if (!by_value.empty()) {
      slot_of = device.upload(by_value);
      fold.emplace(device, histogram_plan::fold_files, histogram_plan::fold_defines(device.info()),
                   histogram_plan::fold_group(device.info()));
    }
  }

  [[nodiscard]] bool folds() const noexcept { return slot_of.size() != 0; }
  [[nodiscard]] std::uint64_t own_bytes() const override {
    return folds() ? call::aligned(kernels->totals_bytes()) : 0;
  }

  Pending<void> enqueue(Stream& stream, std::span<const BufferBase* const> arrays, const BufferBase& counts,
                        const BufferBase* workspace, const CopiedBeside* beside = nullptr) {
    const FloatingPointScope usual;
    const NamedResult result{"counts", counts, numbers, total_bytes};
    auto [count, room] = check(stream, arrays, nullptr, {&result, 1}, workspace);
    if (!kernels) {
      stream.finish();  // what was given to it before may still change the data
      count_on_cpu({device, shape.empty.dtype, arrays}, count,
                   reinterpret_cast<std::uint64_t*>(call::host_address(counts)));
      if (beside != nullptr) call::copy(stream, beside->from, beside->to);
      return {call::end_of(stream), [] {}};
    }
    const Buffer<std::byte> by_value = room.slice(0, folds() ? kernels->totals_bytes() : 0);
    State::count(stream, arrays, count, folds() ? static_cast<const BufferBase&>(by_value) : counts, room, beside);
    const std::uint64_t bins = shape.empty.size;
    const std::uint64_t tables = shape.tables();
    if (folds()) {
      call::clear(stream, counts, 0, counts.size_bytes());
      const std::uint64_t values = kernels->totals_bytes() / total_bytes / tables;
      fold->launch(stream, "histogram_fold", histogram_plan::fold_groups(device.info(), tables * values),
                   call::memory_of(by_value), by_value.byte_offset() / total_bytes, static_cast<std::uint32_t>(values),
                   KernelArgument(slot_of), tables, bins, call::memory_of(counts), counts.byte_offset() / total_bytes);
    }
    const auto kept = std::make_shared<Buffer<std::byte>>(std::move(room));
    return {call::end_of(stream), [kept] {}};
  }

  void count_on_cpu(const Columns& data, std::uint64_t count, std::uint64_t* to) const {
    CountState state(device, shape);
    state.count(data, count);
    const detail::Counts found = state.counts();
    for (std::uint64_t table = 0; table < shape.tables(); ++table) {
      to = std::copy_n(found.bins.data() + table * shape.empty.size, shape.empty.size, to);
      to = std::copy_n(found.outside.data() + table * shape.extras(), shape.extras(), to);
    }
  }

  // The result that a call has left as numbers.
  [[nodiscard]] detail::Counts result(std::span<const std::uint64_t> counts) const {
    const FloatingPointScope usual;
    check_numbers(counts.size());
    return shape.counts({counts.begin(), counts.end()}, used, false);
  }
};

CountedState& counted(PreparedBins::State& state) {
  return static_cast<CountedState&>(state);
}

std::unique_ptr<CountedState> prepared(const Device& device, CountShape shape) {
  return std::make_unique<CountedState>(device, std::move(shape));
}

}  // namespace

PreparedHistogram::PreparedHistogram(const Device& device, Dtype dtype, const Bins& bins,
                                     const HistogramOptions& options)
    : PreparedBins((FloatingPointScope(), prepared(device, CountShape::of_one(dtype, bins, options)))) {}

std::uint64_t PreparedHistogram::size() const noexcept {
  return state_->rules.front()->n;
}

std::vector<Histogram> PreparedHistogram::result(std::span<const std::uint64_t> counts) const {
  return CountShape::histograms(counted(*state_).result(counts));
}

PreparedRowHistograms::PreparedRowHistograms(const Device& device, Dtype dtype, const Bins& bins, std::uint64_t rows,
                                             std::uint64_t row_elements, const HistogramOptions& options)
    : PreparedBins(
          (FloatingPointScope(), prepared(device, CountShape::of_rows(dtype, bins, rows, row_elements, options)))) {}

RowHistograms PreparedRowHistograms::result(std::span<const std::uint64_t> counts) const {
  return CountShape::as<RowHistograms>(counted(*state_).result(counts));
}

PreparedJointHistogram::PreparedJointHistogram(const Device& device, Dtype dtype, std::span<const Bins> bins,
                                               const HistogramOptions& options)
    : PreparedBins((FloatingPointScope(), prepared(device, CountShape::of_joint(dtype, bins, options)))) {}

JointHistogram PreparedJointHistogram::result(std::span<const std::uint64_t> counts) const {
  return CountShape::as<JointHistogram>(counted(*state_).result(counts));
}

Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared, BufferBase& counts,
                        const BufferBase* workspace) {
  const BufferBase* const column = &data;
  return counted(*prepared.state_).enqueue(stream, {&column, 1}, counts, workspace);
}

Pending<void> histogram(Stream& stream, const BufferBase& data, PreparedHistogram& prepared, BufferBase& counts,
                        const BufferBase& from, BufferBase& to, const BufferBase* workspace) {
  const auto refuse_unless = [](bool holds, std::string_view rule) {
    if (!holds) call::refuse("histogram", std::string(rule));
  };
  refuse_unless(from.size_bytes() == to.size_bytes(), "what is copied must have one size");
  refuse_unless(!call::overlap(from, to) && !call::overlap(to, data) && !call::overlap(to, counts) &&
                    !call::overlap(from, counts) && (workspace == nullptr || !call::overlap(to, *workspace)),
                "what is copied must not overlap");
  call::check_device("histogram", prepared.device(), from);
  call::check_device("histogram", prepared.device(), to);
  const BufferBase* const column = &data;
  const CopiedBeside beside{from, to};
  return counted(*prepared.state_).enqueue(stream, {&column, 1}, counts, workspace, &beside);
}

Pending<void> row_histograms(Stream& stream, const BufferBase& data, PreparedRowHistograms& prepared,
                             BufferBase& counts, const BufferBase* workspace) {
  const BufferBase* const column = &data;
  return counted(*prepared.state_).enqueue(stream, {&column, 1}, counts, workspace);
}

Pending<void> joint_histogram(Stream& stream, std::span<const BufferBase* const> columns,
                              PreparedJointHistogram& prepared, BufferBase& counts, const BufferBase* workspace) {
  return counted(*prepared.state_).enqueue(stream, columns, counts, workspace);
}

void histogram(const BufferBase& data, Dtype dtype, const Bins& bins, BufferBase& counts,
               const HistogramOptions& options) {
  const FloatingPointScope usual;
  check_one_channel(options);
  const BufferBase* const column = &data;
  const Columns columns(data.device(), dtype, {&column, 1});
  PreparedHistogram prepared(data.device(), dtype, columns.definite({&bins, 1}).front(), options);
  Stream stream = call::timed_stream(data.device(), false);
  histogram(stream, data, prepared, counts, options.workspace).get();
}

Pending<Histogram> histogram(Stream& stream, const BufferBase& data, Dtype dtype, const Bins& bins,
                             const HistogramOptions& options) {
  const FloatingPointScope usual;
  check_one_channel(options);
  struct Work {
    PreparedHistogram prepared;
    Buffer<std::uint64_t> counts;
    Pending<void> counted;
  };
  call::refuse_capture("histogram", stream, "bins must be prepared (PreparedHistogram)");
  PreparedHistogram prepared(data.device(), dtype, bins, options);
  Buffer<std::uint64_t> counts(data.device(), prepared.numbers());
  Pending<void> counted = histogram(stream, data, prepared, counts, options.workspace);
  const auto work = std::make_shared<Work>(Work{std::move(prepared), std::move(counts), std::move(counted)});
  return {call::end_of(stream), [work] { return std::move(work->prepared.result(work->counts.read()).front()); }};
}

}  // namespace masu

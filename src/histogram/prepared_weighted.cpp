// SPDX-License-Identifier: Apache-2.0
// Weighted histograms that only give work to a stream, and the form that is this and a read.
#include "call/operands.h"
#include "histogram/counts.h"
#include "histogram/device/slot_kernels.h"
#include "histogram/weighted_state.h"

#include <masu/weighted_histogram.h>

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace masu {

namespace {

struct Weighted : PreparedBins::State {
  WeightedShape shape;
  WeightedKernels* sums = nullptr;  // the kernels

  Weighted(const Device& on, WeightedShape made) : State(weighted_name, on, made.rules), shape(std::move(made)) {
    if (shape.options.rows > 1) elements = shape.options.rows * shape.row_elements;
    numbers = shape.numbers();
    if (call::on_cpu(device)) return;
    auto made_kernels =
        std::make_unique<WeightedKernels>(device, WeightedKernels::columns_of(device, shape.rules), shape.formats,
                                          shape.options, shape.row_elements, TableUpload{});
    sums = made_kernels.get();
    kernels = std::move(made_kernels);
  }

  [[nodiscard]] std::uint64_t own_bytes() const override { return call::aligned(kernels->totals_bytes()); }

  void sum_on_cpu(const Columns& data, std::uint64_t count, const WeightedTotals& to) const {
    WeightedState state(shape, device);
    state.add(data, count);
    const std::vector<WeightSums> found = state.collect();
    const auto place = []<class T>(const BufferBase* buffer, T) {
      return buffer == nullptr ? nullptr : reinterpret_cast<T*>(call::host_address(*buffer));
    };
    double* const totals = place(&to.totals, double{});
    double* const variances = place(to.variances, double{});
    std::uint64_t* const integers = place(to.integers, std::uint64_t{});
    bool all_fit = true;
    for (std::uint64_t i = 0; i < numbers; ++i) {
      totals[i] = found.front().total(i);
      if (variances != nullptr) variances[i] = found.back().total(i);
      if (!shape.whole()) continue;
      std::uint64_t bits = 0;
      if (!found.front().integer_total(i, bits)) all_fit = false;
      if (integers != nullptr) integers[i] = bits;
    }
    if (to.status != nullptr) *place(to.status, std::uint32_t{}) = all_fit ? 0 : 1;
  }

  // Throws: names the first integer total of a call that does not fit. `room`: the workspace.
  void refuse(const Buffer<std::byte>& room) const {
    std::vector<std::uint64_t> totals(kernels->totals_bytes() / sizeof(std::uint64_t));
    room.slice(0, kernels->totals_bytes()).read(std::as_writable_bytes(std::span(totals)));
    WeightSums found(shape.formats.front(), numbers);
    sums->collect(totals, {&found, 1});
    for (std::uint64_t i = 0; i < numbers; ++i) {
      std::uint64_t bits = 0;
      if (!found.integer_total(i, bits)) shape.refuse_total(i);
    }
  }

  // Returns the memory that the work uses.
  Buffer<std::byte> enqueue(Stream& stream, std::span<const BufferBase* const> columns, const BufferBase& weights,
                            const WeightedTotals& to, const BufferBase* workspace) {
    if ((to.variances != nullptr) != shape.options.variances) {
      call::refuse(name, shape.options.variances ? "variances were asked for and need memory, got none"
                                                 : "variances were not asked for, got memory for them");
    }
    if (to.integers != nullptr && !shape.whole()) {
      call::refuse(name,
                   fmt::format("weights must be integers for exact totals, got {}", to_string(shape.weights_dtype)));
    }
    std::vector<NamedResult> results{{"totals", to.totals, numbers, sizeof(double)}};
    if (to.variances != nullptr) results.push_back({"variances", *to.variances, numbers, sizeof(double)});
    if (to.integers != nullptr) results.push_back({"integers", *to.integers, numbers, sizeof(std::uint64_t)});
    if (to.status != nullptr) results.push_back({"status", *to.status, 1, sizeof(std::uint32_t)});
    std::vector<const BufferBase*> arrays(columns.begin(), columns.end());
    arrays.push_back(&weights);
    auto [count, room] = check(stream, arrays, &shape.weights_dtype, results, workspace);
    if (!kernels) {
      stream.finish();  // what was given to it before may still change the data
      Columns data(device, shape.dtype(), arrays);
      data.weights = shape.weights_dtype;
      sum_on_cpu(data, count, to);
      return std::move(room);
    }
    const Buffer<std::byte> digits = room.slice(0, kernels->totals_bytes());
    State::count(stream, arrays, count, digits, room);
    if (to.status != nullptr) call::clear(stream, *to.status, 0, sizeof(std::uint32_t));
    sums->round(stream, 0, digits, {to.totals, to.integers, shape.whole() ? to.status : nullptr});
    if (to.variances != nullptr) sums->round(stream, 1, digits, {*to.variances, nullptr, nullptr});
    return std::move(room);
  }
};

Weighted& weighted_of(PreparedBins::State& state) {
  return static_cast<Weighted&>(state);
}

}  // namespace

PreparedWeightedHistogram::PreparedWeightedHistogram(const Device& device, Dtype dtype, Dtype weights,
                                                     std::span<const Bins> bins, const WeightedOptions& options,
                                                     std::uint64_t row_elements)
    : PreparedBins((FloatingPointScope(),
                    std::make_unique<Weighted>(device, WeightedShape(dtype, weights, bins, options, row_elements)))) {}

WeightedHistogram PreparedWeightedHistogram::result(std::span<const double> totals, std::span<const double> variances,
                                                    std::span<const std::uint64_t> integers) const {
  const FloatingPointScope usual;
  const Weighted& state = weighted_of(*state_);
  state.check_numbers(totals.size());
  if (!variances.empty()) state.check_numbers(variances.size());
  if (!integers.empty()) state.check_numbers(integers.size());
  return state.shape.of(0, {totals.begin(), totals.end()}, {variances.begin(), variances.end()},
                        {integers.begin(), integers.end()});
}

Pending<void> weighted_histogram(Stream& stream, std::span<const BufferBase* const> columns, const BufferBase& weights,
                                 PreparedWeightedHistogram& prepared, const WeightedTotals& totals,
                                 const BufferBase* workspace) {
  const FloatingPointScope usual;
  const auto room = std::make_shared<Buffer<std::byte>>(
      weighted_of(*prepared.state_).enqueue(stream, columns, weights, totals, workspace));
  return {call::end_of(stream), [room] {}};
}

Pending<WeightedHistogram> weighted_histogram(Stream& stream, const BufferBase& data, Dtype dtype,
                                              const BufferBase& weights, Dtype weights_dtype, const Bins& bins,
                                              const WeightedOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  const std::uint64_t row_elements = weighted_row_elements(count, options);
  if (call::on_cpu(data.device())) {
    auto accumulator = std::make_shared<WeightedHistogramAccumulator>(data.device(), dtype, weights_dtype, bins,
                                                                      options, row_elements);
    stream.finish();  // what was given to it before may still change the data
    accumulator->add_buffer(data, dtype, weights, weights_dtype, &stream);
    return {call::end_of(stream), [accumulator] { return accumulator->result(); }};
  }
  call::refuse_capture("weighted_histogram", stream, "bins must be prepared (PreparedWeightedHistogram)");
  struct Work {
    Work(PreparedWeightedHistogram made, bool with_variances, bool whole)
        : prepared(std::move(made)),
          totals(prepared.device(), prepared.numbers()),
          variances(prepared.device(), with_variances ? prepared.numbers() : 0),
          integers(prepared.device(), whole ? prepared.numbers() : 0),
          status(prepared.device(), 1),
          room(prepared.device(), 0) {}
    PreparedWeightedHistogram prepared;
    Buffer<double> totals;
    Buffer<double> variances;
    Buffer<std::uint64_t> integers;
    Buffer<std::uint32_t> status;
    Buffer<std::byte> room;
  };
  const bool whole = !is_float(weights_dtype);
  const auto work = std::make_shared<Work>(
      PreparedWeightedHistogram(data.device(), dtype, weights_dtype, std::span(&bins, 1), options, row_elements),
      options.variances, whole);
  const BufferBase* const column = &data;
  work->room = weighted_of(*work->prepared.state_)
                   .enqueue(stream, {&column, 1}, weights,
                            {work->totals, options.variances ? &work->variances : nullptr,
                             whole ? &work->integers : nullptr, &work->status},
                            nullptr);
  const Weighted& state = weighted_of(*work->prepared.state_);
  return {call::end_of(stream), [work, &state, count, wrap = options.wrap] {
            if (!wrap && state.shape.whole() && work->status.read().front() != 0) state.refuse(work->room);
            return state.shape.of(count, work->totals.read(), work->variances.read(), work->integers.read());
          }};
}

}  // namespace masu

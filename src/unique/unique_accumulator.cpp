// SPDX-License-Identifier: Apache-2.0
// Pieces become sorted runs of distinct values, of which neighbours are merged when they are about equally long: so
// each value is merged as often as the logarithm of the number of pieces, and the runs hold little more than the
// result.
#include "call/accumulator.h"
#include "elements/order.h"

#include <masu/unique.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace masu {

namespace {

// Keeps the bits of the first of equal values: `a` comes from earlier pieces than `b`.
template <class T>
UniqueArrays merged_as(const UniqueArrays& a, const UniqueArrays& b) {
  const auto* x = reinterpret_cast<const T*>(a.values.bytes.data());
  const auto* y = reinterpret_cast<const T*>(b.values.bytes.data());
  const std::uint64_t x_end = a.size();
  const std::uint64_t y_end = b.size();
  UniqueArrays result;
  result.values.dtype = a.values.dtype;
  result.values.bytes.resize((x_end + y_end) * sizeof(T));
  result.counts.resize(x_end + y_end);
  auto* to = reinterpret_cast<T*>(result.values.bytes.data());
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  std::uint64_t size = 0;
  for (; i < x_end && j < y_end; ++size) {
    const auto left = ordered_key(x[i]);
    const auto right = ordered_key(y[j]);
    const bool from_x = left <= right;
    const bool from_y = right <= left;
    to[size] = from_x ? x[i] : y[j];
    result.counts[size] = (from_x ? a.counts[i] : 0) + (from_y ? b.counts[j] : 0);
    i += static_cast<std::uint64_t>(from_x);
    j += static_cast<std::uint64_t>(from_y);
  }
  for (; i < x_end; ++i, ++size) {
    to[size] = x[i];
    result.counts[size] = a.counts[i];
  }
  for (; j < y_end; ++j, ++size) {
    to[size] = y[j];
    result.counts[size] = b.counts[j];
  }
  result.values.bytes.resize(size * sizeof(T));
  result.counts.resize(size);
  return result;
}

// The ordered key of element i.
std::uint64_t key_at(const HostArray& values, std::uint64_t i) {
  return dispatch(values.dtype, [&]<class T>(TypeTag<T>) -> std::uint64_t {
    T value;
    std::memcpy(&value, values.bytes.data() + i * sizeof(T), sizeof(T));
    return ordered_key(value);
  });
}

void write_counted(call::StateWriter& to, const HostArray& values, std::span<const std::uint64_t> counts,
                   std::uint64_t elements) {
  to.dtype(values.dtype);
  to.number(elements);
  to.number(counts.size());
  to.raw(values.bytes);
  to.numbers(counts);
}

// Distinct values or runs with their counts.
struct Counted {
  HostArray values;
  std::vector<std::uint64_t> counts;
  std::uint64_t elements = 0;  // the sum of the counts
};

// `follows(a, b)`: whether a value with the ordered key b may come after one with a.
Counted read_counted(call::StateReader& from, bool (*follows)(std::uint64_t before, std::uint64_t key)) {
  Counted result;
  result.values.dtype = from.dtype();
  result.elements = from.elements();
  const std::uint64_t size = from.number();
  const std::span<const std::byte> values = from.raw(size, size_of(result.values.dtype));
  result.values.bytes.assign(values.begin(), values.end());
  result.counts = from.numbers(size);
  from.require(std::find(result.counts.begin(), result.counts.end(), 0) == result.counts.end() &&
               call::total_of_counts({result.counts}) == result.elements);
  for (std::uint64_t i = 1; i < size; ++i) {
    from.require(follows(key_at(result.values, i - 1), key_at(result.values, i)));
  }
  return result;
}

}  // namespace

template <>
struct detail::Accumulator<UniqueAccumulator>::State : call::AccumulatorState {
  static constexpr call::StateName name{"UniqueAccumulator", "MUNI"};
  static constexpr std::string_view function = name.type;
  using AccumulatorState::AccumulatorState;

  void add(const ArrayView& piece) {
    Times taken;
    UniqueOptions options;
    options.times = &taken;
    UniqueArrays found = unique(device, piece, options);
    call::add_times(&times, taken);
    const call::Timer timer(&times, &Times::compute);
    append(std::move(found), piece.count);
  }

  void append(UniqueArrays run, std::uint64_t elements) {
    runs.push_back(std::move(run));
    while (runs.size() > 1 && runs[runs.size() - 2].size() <= 2 * runs.back().size()) merge_last();
    count += elements;
  }

  void merge_last() {
    const UniqueArrays last = std::move(runs.back());
    runs.pop_back();
    runs.back() = merged(runs.back(), last);
  }

  [[nodiscard]] UniqueArrays merged(const UniqueArrays& a, const UniqueArrays& b) const {
    return dispatch(dtype, [&](auto tag) { return merged_as<typename decltype(tag)::type>(a, b); });
  }

  // All runs in one.
  [[nodiscard]] UniqueArrays all() const {
    UniqueArrays result;
    result.values.dtype = dtype;
    for (const UniqueArrays& run : runs) result = merged(result, run);
    return result;
  }

  void merge(const State& later) {
    call::check_dtype(function, dtype, later.dtype);
    (void)call::elements_of_both("UniqueAccumulator::merge", count, later.count);
    if (later.count != 0) append(later.all(), later.count);
  }

  void write(call::StateWriter& to) const {
    const UniqueArrays found = all();
    write_counted(to, found.values, found.counts, count);
  }

  static UniqueAccumulator read(const Device& device, call::StateReader& from) {
    Counted read = read_counted(from, [](std::uint64_t before, std::uint64_t key) { return before < key; });
    UniqueAccumulator result(device, read.values.dtype);
    if (read.elements != 0) {
      result.state_->append({std::move(read.values), std::move(read.counts), {}, {}}, read.elements);
    }
    return result;
  }

  std::vector<UniqueArrays> runs;  // of earlier pieces first
};

template class detail::Accumulator<UniqueAccumulator>;

UniqueAccumulator::UniqueAccumulator(const Device& device, Dtype dtype) {
  state_ = detail::make_hidden<State>(device, dtype);
}

std::uint64_t UniqueAccumulator::memory_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const UniqueArrays& run : state_->runs)
    bytes += run.values.bytes.size() + run.counts.size() * sizeof(run.counts[0]);
  return bytes;
}

UniqueArrays UniqueAccumulator::result() {
  const FloatingPointScope usual;
  State& s = *state_;
  while (s.runs.size() > 1) s.merge_last();
  if (!s.runs.empty()) return s.runs.front();
  UniqueArrays none;
  none.values.dtype = s.dtype;
  return none;
}

// Keeps the runs of all pieces in order. Two runs that meet at a border and are equal become one.
template <>
struct detail::Accumulator<RunAccumulator>::State : call::AccumulatorState {
  static constexpr call::StateName name{"RunAccumulator", "MRUN"};
  static constexpr std::string_view function = name.type;

  State(const Device& on, Dtype type) : AccumulatorState(on, type), values{type, {}} {}

  void add(const ArrayView& piece) {
    Times taken;
    const RunArrays found = run_length(device, piece, {.lengths = true, .starts = false, .times = &taken});
    call::add_times(&times, taken);
    append(found.values, found.lengths, piece.count);
  }

  // Appends later runs; where two become one, it keeps the bits of the first.
  void append(const HostArray& more, std::span<const std::uint64_t> more_lengths, std::uint64_t more_count) {
    if (more_lengths.empty()) return;
    const std::size_t size = size_of(dtype);
    const bool joined = !lengths.empty() && key_at(values, lengths.size() - 1) == key_at(more, 0);
    const std::size_t first = joined ? 1 : 0;
    values.bytes.reserve(values.bytes.size() + more.bytes.size());
    lengths.reserve(lengths.size() + more_lengths.size());
    if (joined) lengths.back() += more_lengths[0];
    values.bytes.insert(values.bytes.end(), more.bytes.begin() + static_cast<std::ptrdiff_t>(first * size),
                        more.bytes.end());
    lengths.insert(lengths.end(), more_lengths.begin() + static_cast<std::ptrdiff_t>(first), more_lengths.end());
    count += more_count;
  }

  void merge(const State& later) {
    call::check_dtype(function, dtype, later.dtype);
    (void)call::elements_of_both("RunAccumulator::merge", count, later.count);
    if (&later != this) return append(later.values, later.lengths, later.count);
    const HostArray own_values = values;
    const std::vector<std::uint64_t> own_lengths = lengths;
    append(own_values, own_lengths, count);
  }

  void write(call::StateWriter& to) const { write_counted(to, values, lengths, count); }

  static RunAccumulator read(const Device& device, call::StateReader& from) {
    Counted read = read_counted(from, [](std::uint64_t before, std::uint64_t key) { return before != key; });
    RunAccumulator result(device, read.values.dtype);
    result.state_->append(read.values, read.counts, read.elements);
    return result;
  }

  HostArray values;
  std::vector<std::uint64_t> lengths;
};

template class detail::Accumulator<RunAccumulator>;

RunAccumulator::RunAccumulator(const Device& device, Dtype dtype) {
  state_ = detail::make_hidden<State>(device, dtype);
}

RunArrays RunAccumulator::result() const {
  const FloatingPointScope usual;
  const State& s = *state_;
  RunArrays runs{s.values, s.lengths, std::vector<std::uint64_t>(s.lengths.size())};
  std::exclusive_scan(s.lengths.begin(), s.lengths.end(), runs.starts.begin(), std::uint64_t{0});
  return runs;
}

}  // namespace masu

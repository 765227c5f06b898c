// SPDX-License-Identifier: Apache-2.0
// Pieces become sorted runs of distinct values, of which neighbours are merged when they are about equally long: so
// each value is merged as often as the logarithm of the number of pieces, and the runs hold little more than the
// result.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
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

constexpr call::StateName run_state{"RunAccumulator", "MRUN"};
constexpr call::StateName unique_state{"UniqueAccumulator", "MUNI"};

// Of equal values, the first's bits stay: `a` is of earlier pieces than `b`.
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
  return dispatch(values.dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, values.bytes.data() + i * sizeof(T), sizeof(T));
    return ordered_key(value);
  });
}

// The bytes of values with counts: of runs, and of distinct values.
struct CountedState {
  HostArray values;
  std::vector<std::uint64_t> counts;
  std::uint64_t count = 0;  // their sum
};

std::vector<std::byte> write_counted(const call::StateName& name, const HostArray& values,
                                     std::span<const std::uint64_t> counts, std::uint64_t count) {
  call::StateWriter to(name);
  to.dtype(values.dtype);
  to.number(count);
  to.number(counts.size());
  to.raw(values.bytes);
  to.numbers(counts);
  return to.finish();
}

// `follows(a, b)`: whether a value with the ordered key b may come behind one with a.
CountedState read_counted(const call::StateName& name, std::span<const std::byte> bytes,
                          bool (*follows)(std::uint64_t before, std::uint64_t key)) {
  call::StateReader from(name, bytes);
  CountedState result;
  result.values.dtype = from.dtype();
  result.count = from.elements();
  const std::uint64_t size = from.number();
  const std::span<const std::byte> values = from.raw(size, size_of(result.values.dtype));
  result.values.bytes.assign(values.begin(), values.end());
  result.counts = from.numbers(size);
  from.end();
  from.require(std::find(result.counts.begin(), result.counts.end(), 0) == result.counts.end() &&
               call::total_of_counts({result.counts}) == result.count);
  for (std::uint64_t i = 1; i < size; ++i) {
    from.require(follows(key_at(result.values, i - 1), key_at(result.values, i)));
  }
  return result;
}

}  // namespace

struct UniqueAccumulator::State {
  Device device;
  Dtype dtype;
  std::vector<UniqueArrays> runs;  // of earlier pieces first
  std::uint64_t count = 0;
  Times times;

  // All in one.
  [[nodiscard]] UniqueArrays all() const {
    UniqueArrays result;
    result.values.dtype = dtype;
    for (const UniqueArrays& run : runs) {
      result = dispatch(dtype, [&](auto tag) { return merged_as<typename decltype(tag)::type>(result, run); });
    }
    return result;
  }
  void merge_last() {
    const UniqueArrays last = std::move(runs.back());
    runs.pop_back();
    runs.back() = dispatch(dtype, [&](auto tag) { return merged_as<typename decltype(tag)::type>(runs.back(), last); });
  }
};

UniqueAccumulator::UniqueAccumulator(const Device& device, Dtype dtype)
    : state_(std::make_unique<State>(State{device, dtype, {}, 0, {}})) {}
UniqueAccumulator::UniqueAccumulator(UniqueAccumulator&&) noexcept = default;
UniqueAccumulator& UniqueAccumulator::operator=(UniqueAccumulator&&) noexcept = default;
UniqueAccumulator::~UniqueAccumulator() = default;

void UniqueAccumulator::add(const ArrayView& piece) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(unique_state.type, s.dtype, piece.dtype);
  if (piece.count == 0) return;
  Times times;
  UniqueOptions options;
  options.times = &times;
  s.runs.push_back(unique(s.device, piece, options));
  call::add_times(&s.times, times);
  const call::Timer timer(&s.times, &Times::compute);
  while (s.runs.size() > 1 && s.runs[s.runs.size() - 2].size() <= 2 * s.runs.back().size()) s.merge_last();
  s.count += piece.count;
}

void UniqueAccumulator::merge(const UniqueAccumulator& later) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(unique_state.type, s.dtype, later.state_->dtype);
  (void)call::elements_of_both("UniqueAccumulator::merge", s.count, later.state_->count);
  if (later.state_->count == 0) return;
  s.runs.push_back(later.state_->all());
  while (s.runs.size() > 1 && s.runs[s.runs.size() - 2].size() <= 2 * s.runs.back().size()) s.merge_last();
  s.count += later.state_->count;
}

std::vector<std::byte> UniqueAccumulator::bytes() const {
  const UniqueArrays all = state_->all();
  return write_counted(unique_state, all.values, all.counts, state_->count);
}

UniqueAccumulator UniqueAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  CountedState read =
      read_counted(unique_state, bytes, [](std::uint64_t before, std::uint64_t key) { return before < key; });
  UniqueAccumulator result(device, read.values.dtype);
  result.state_->count = read.count;
  if (read.count != 0) result.state_->runs.push_back({std::move(read.values), std::move(read.counts), {}, {}});
  return result;
}

Dtype UniqueAccumulator::dtype() const noexcept {
  return state_->dtype;
}

std::uint64_t UniqueAccumulator::count() const noexcept {
  return state_->count;
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

Times UniqueAccumulator::times() const noexcept {
  return state_->times;
}

// The runs of pieces one behind the other; two that meet at a border and are equal become one.

struct RunAccumulator::State {
  Device device;
  HostArray values;
  std::vector<std::uint64_t> lengths;
  std::uint64_t count = 0;

  // The runs of what follows; the first's bits stay where two become one.
  void append(const HostArray& more, std::span<const std::uint64_t> more_lengths, std::uint64_t more_count) {
    if (more_lengths.empty()) return;
    const std::size_t size = size_of(values.dtype);
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
};

RunAccumulator::RunAccumulator(const Device& device, Dtype dtype)
    : state_(std::make_unique<State>(State{device, {dtype, {}}, {}, 0})) {}
RunAccumulator::RunAccumulator(RunAccumulator&&) noexcept = default;
RunAccumulator& RunAccumulator::operator=(RunAccumulator&&) noexcept = default;
RunAccumulator::~RunAccumulator() = default;

void RunAccumulator::add(const ArrayView& piece) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(run_state.type, s.values.dtype, piece.dtype);
  if (piece.count == 0) return;
  const RunArrays found = run_length(s.device, piece, {.lengths = true, .starts = false});
  s.append(found.values, found.lengths, piece.count);
}

void RunAccumulator::merge(const RunAccumulator& later) {
  const FloatingPointScope usual;
  const State& other = *later.state_;
  call::check_dtype(run_state.type, state_->values.dtype, other.values.dtype);
  (void)call::elements_of_both("RunAccumulator::merge", state_->count, other.count);
  if (&other != state_.get()) return state_->append(other.values, other.lengths, other.count);
  const HostArray values = other.values;
  const std::vector<std::uint64_t> lengths = other.lengths;
  state_->append(values, lengths, other.count);
}

std::vector<std::byte> RunAccumulator::bytes() const {
  return write_counted(run_state, state_->values, state_->lengths, state_->count);
}

RunAccumulator RunAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  CountedState read =
      read_counted(run_state, bytes, [](std::uint64_t before, std::uint64_t key) { return before != key; });
  RunAccumulator result(device, read.values.dtype);
  State& s = *result.state_;
  s.values = std::move(read.values);
  s.lengths = std::move(read.counts);
  s.count = read.count;
  return result;
}

Dtype RunAccumulator::dtype() const noexcept {
  return state_->values.dtype;
}

std::uint64_t RunAccumulator::count() const noexcept {
  return state_->count;
}

RunArrays RunAccumulator::result() const {
  const FloatingPointScope usual;
  const State& s = *state_;
  RunArrays runs{s.values, s.lengths, std::vector<std::uint64_t>(s.lengths.size())};
  std::exclusive_scan(s.lengths.begin(), s.lengths.end(), runs.starts.begin(), std::uint64_t{0});
  return runs;
}

}  // namespace masu

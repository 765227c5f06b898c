// SPDX-License-Identifier: Apache-2.0
// Pieces become sorted runs of distinct values, of which neighbours are merged when they are about equally long: so
// each value is merged as often as the logarithm of the number of pieces, and the runs hold little more than the
// result.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "call/timer.h"
#include "elements/order.h"

#include <masu/unique.h>

#include <utility>

namespace masu {

namespace {

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
  State& s = *state_;
  call::check_dtype("UniqueAccumulator", s.dtype, piece.dtype);
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
  State& s = *state_;
  call::check_dtype("UniqueAccumulator", s.dtype, later.state_->dtype);
  if (later.state_->count == 0) return;
  s.runs.push_back(later.state_->all());
  while (s.runs.size() > 1 && s.runs[s.runs.size() - 2].size() <= 2 * s.runs.back().size()) s.merge_last();
  s.count += later.state_->count;
}

namespace {
constexpr call::StateName unique_state{"UniqueAccumulator", "MUNI"};
}  // namespace

std::vector<std::byte> UniqueAccumulator::bytes() const {
  const UniqueArrays all = state_->all();
  call::StateWriter to(unique_state);
  to.dtype(state_->dtype);
  to.number(state_->count);
  to.number(all.size());
  to.raw(all.values.bytes);
  to.numbers(all.counts);
  return to.finish();
}

UniqueAccumulator UniqueAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  call::StateReader from(unique_state, bytes);
  const Dtype dtype = from.dtype();
  UniqueAccumulator result(device, dtype);
  State& s = *result.state_;
  s.count = from.number();
  const std::uint64_t size = from.number();
  const std::span<const std::byte> values = from.raw(size, size_of(dtype));
  UniqueArrays all;
  all.values.dtype = dtype;
  all.values.bytes.assign(values.begin(), values.end());
  all.counts = from.numbers(size);
  from.end();
  std::uint64_t rest = s.count;
  for (const std::uint64_t count : all.counts) {
    from.require(count >= 1 && count <= rest);
    rest -= count;
  }
  from.require(rest == 0);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* x = reinterpret_cast<const T*>(all.values.bytes.data());
    for (std::uint64_t i = 1; i < size; ++i) from.require(ordered_key(x[i - 1]) < ordered_key(x[i]));
  });
  if (size != 0) s.runs.push_back(std::move(all));
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

}  // namespace masu

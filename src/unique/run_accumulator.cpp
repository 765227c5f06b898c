// SPDX-License-Identifier: Apache-2.0
// The runs of pieces one behind the other; two that meet at a border and are equal become one.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "elements/order.h"

#include <masu/unique.h>

#include <cstring>
#include <numeric>
#include <utility>

namespace masu {

namespace {

constexpr call::StateName run_state{"RunAccumulator", "MRUN"};

// The ordered key of element i.
std::uint64_t key_at(const HostArray& values, std::uint64_t i) {
  return dispatch(values.dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, values.bytes.data() + i * sizeof(T), sizeof(T));
    return ordered_key(value);
  });
}

}  // namespace

struct RunAccumulator::State {
  Device device;
  HostArray values;
  std::vector<std::uint64_t> lengths;
  std::uint64_t count = 0;

  // The runs of what follows; the first's bits stay where two become one.
  void append(const HostArray& more, std::span<const std::uint64_t> more_lengths) {
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
    count = std::accumulate(more_lengths.begin(), more_lengths.end(), count);
  }
};

RunAccumulator::RunAccumulator(const Device& device, Dtype dtype)
    : state_(std::make_unique<State>(State{device, {dtype, {}}, {}, 0})) {}
RunAccumulator::RunAccumulator(RunAccumulator&&) noexcept = default;
RunAccumulator& RunAccumulator::operator=(RunAccumulator&&) noexcept = default;
RunAccumulator::~RunAccumulator() = default;

void RunAccumulator::add(const ArrayView& piece) {
  State& s = *state_;
  call::check_dtype(run_state.type, s.values.dtype, piece.dtype);
  if (piece.count == 0) return;
  const RunArrays found = run_length(s.device, piece, {.lengths = true, .starts = false});
  s.append(found.values, found.lengths);
}

void RunAccumulator::merge(const RunAccumulator& later) {
  const State& other = *later.state_;
  call::check_dtype(run_state.type, state_->values.dtype, other.values.dtype);
  if (&other != state_.get()) return state_->append(other.values, other.lengths);
  const HostArray values = other.values;
  const std::vector<std::uint64_t> lengths = other.lengths;
  state_->append(values, lengths);
}

std::vector<std::byte> RunAccumulator::bytes() const {
  const State& s = *state_;
  call::StateWriter to(run_state);
  to.dtype(s.values.dtype);
  to.number(s.count);
  to.number(s.lengths.size());
  to.raw(s.values.bytes);
  to.numbers(s.lengths);
  return to.finish();
}

RunAccumulator RunAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  call::StateReader from(run_state, bytes);
  const Dtype dtype = from.dtype();
  RunAccumulator result(device, dtype);
  State& s = *result.state_;
  s.count = from.number();
  const std::uint64_t size = from.number();
  const std::span<const std::byte> values = from.raw(size, size_of(dtype));
  s.values.bytes.assign(values.begin(), values.end());
  s.lengths = from.numbers(size);
  from.end();
  std::uint64_t rest = s.count;
  for (std::uint64_t i = 0; i < size; ++i) {
    from.require(s.lengths[i] >= 1 && s.lengths[i] <= rest);
    from.require(i == 0 || key_at(s.values, i - 1) != key_at(s.values, i));
    rest -= s.lengths[i];
  }
  from.require(rest == 0);
  return result;
}

Dtype RunAccumulator::dtype() const noexcept {
  return state_->values.dtype;
}

std::uint64_t RunAccumulator::count() const noexcept {
  return state_->count;
}

RunArrays RunAccumulator::result() const {
  const State& s = *state_;
  RunArrays runs{s.values, s.lengths, std::vector<std::uint64_t>(s.lengths.size())};
  std::exclusive_scan(s.lengths.begin(), s.lengths.end(), runs.starts.begin(), std::uint64_t{0});
  return runs;
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// The runs of pieces one behind the other; two that meet at a border and are equal become one.
#include "call/operands.h"
#include "unique/unique_state.h"

#include <masu/unique.h>

#include <numeric>
#include <utility>

namespace masu {

namespace {

constexpr call::StateName run_state{"RunAccumulator", "MRUN"};

}  // namespace

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
  State& s = *state_;
  call::check_dtype(run_state.type, s.values.dtype, piece.dtype);
  if (piece.count == 0) return;
  const RunArrays found = run_length(s.device, piece, {.lengths = true, .starts = false});
  s.append(found.values, found.lengths, piece.count);
}

void RunAccumulator::merge(const RunAccumulator& later) {
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
  const State& s = *state_;
  RunArrays runs{s.values, s.lengths, std::vector<std::uint64_t>(s.lengths.size())};
  std::exclusive_scan(s.lengths.begin(), s.lengths.end(), runs.starts.begin(), std::uint64_t{0});
  return runs;
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Data that comes in pieces.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/staging.h"
#include "call/state_bytes.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string_view>

namespace masu {

struct ReduceAccumulator::State {
  Device device;
  Dtype dtype;
  ReduceOp op;
  bool skip;
  Reduced found;
  std::uint64_t count = 0;
  Times times;
  std::optional<call::Staging> staging;

  // A piece whose result has not been fetched.
  struct Piece {
    Stream* stream;
    std::uint64_t first;
    DeviceReduce job;
  };

  State(const Device& on, Dtype type, ReduceOp asked, bool skips) : device(on), dtype(type), op(asked), skip(skips) {}

  void take(Reduced piece, std::uint64_t first) {
    for (Extreme& extreme : piece.extremes) extreme.index += first;
    found.merge(piece);
  }

  void add_here(const ArrayView& data) {
    const call::Timer timer(&times, &Times::compute);
    found.merge(reduce_cpu(data, 1, op, skip, count).front());
    count += data.count;
  }

  void fetch(Piece& piece) { take(piece.job.fetch(*piece.stream).front(), piece.first); }

  Piece start(Stream& stream, const BufferBase& data, std::uint64_t data_at, std::uint64_t elements) {
    Piece piece{&stream, count,
                DeviceReduce(data, reduce_plan::make(device.info(), dtype, op, skip, 1, elements), nullptr)};
    piece.job.start(stream, data, data_at);
    count += elements;
    return piece;
  }
};

ReduceAccumulator::ReduceAccumulator(const Device& device, Dtype dtype, ReduceOp op, const ReduceOptions& options) {
  call::check_one_row(reduce_name, options.rows);
  call::check_nan(reduce_name, options.nan, NanPolicy::propagate);
  state_ = std::make_unique<State>(device, dtype, op, options.nan == NanPolicy::skip);
}

ReduceAccumulator::ReduceAccumulator(ReduceAccumulator&&) noexcept = default;
ReduceAccumulator& ReduceAccumulator::operator=(ReduceAccumulator&&) noexcept = default;
ReduceAccumulator::~ReduceAccumulator() = default;

void ReduceAccumulator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(reduce_name, s.dtype, data.dtype);
  if (data.count == 0) return;
  if (call::on_cpu(s.device)) return s.add_here(data);
  if (!s.staging) s.staging.emplace(s.device, 0);
  // The result of a piece is fetched when the next but one begins: until then copies go on beside the kernels.
  std::deque<State::Piece> under_way;
  const auto fetch_first = [&] {
    s.fetch(under_way.front());
    s.times.compute += under_way.front().job.seconds();
    under_way.pop_front();
  };
  s.staging->pieces(data, 1, [&](Stream& stream, const BufferBase& buffer, std::uint64_t elements) {
    under_way.push_back(s.start(stream, buffer, buffer.byte_offset(), elements));
    if (under_way.size() == 2) fetch_first();
  });
  while (!under_way.empty()) fetch_first();
}

void ReduceAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(reduce_name, s.dtype, dtype);
  call::check_device(reduce_name, s.device, data);
  const std::uint64_t elements = call::count_of(reduce_name, data, dtype);
  if (elements == 0) return;
  if (call::on_cpu(s.device)) return s.add_here(call::host_view(data, dtype));
  const call::Timer timer(&s.times, &Times::compute);
  Stream stream = call::timed_stream(s.device, false);
  State::Piece piece = s.start(stream, data, data.byte_offset(), elements);
  s.fetch(piece);
}

void ReduceAccumulator::merge(const ReduceAccumulator& later) {
  const FloatingPointScope usual;
  State& s = *state_;
  const State& other = *later.state_;
  if (other.dtype != s.dtype || other.op != s.op || other.skip != s.skip) {
    const auto text = [](const State& of) {
      return fmt::format("the {} of {}, NaN {}", to_string(of.op), to_string(of.dtype),
                         of.skip ? "skipped" : "propagated");
    };
    call::refuse(reduce_name,
                 fmt::format("accumulators that are merged must find the same, got {} and {}", text(s), text(other)));
  }
  (void)call::elements_of_both("ReduceAccumulator::merge", s.count, other.count);
  if (other.count == 0) return;
  s.take(other.found, s.count);
  s.count += other.count;
}

namespace {
constexpr call::StateName reduce_state{"ReduceAccumulator", "MRED"};
}  // namespace

std::vector<std::byte> ReduceAccumulator::bytes() const {
  const State& s = *state_;
  call::StateWriter to(reduce_state);
  to.dtype(s.dtype);
  to.number(static_cast<std::uint64_t>(s.op), 1);
  to.number(s.skip ? 1 : 0, 1);
  to.number(s.count);
  to.number(s.op == ReduceOp::count_nonzero ? s.found.nonzero : 0);
  for (int which = 0; which < 2; ++which) {
    const Extreme extreme = s.count != 0 && wants(s.op, which) ? s.found.extremes[which] : Extreme();
    to.number(extreme.index);
    to.number(extreme.bits);
  }
  return to.finish();
}

ReduceAccumulator ReduceAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  call::StateReader from(reduce_state, bytes);
  const Dtype dtype = from.dtype();
  const auto op = static_cast<ReduceOp>(from.below(static_cast<std::uint64_t>(ReduceOp::count_nonzero) + 1, 1));
  const NanPolicy rule = from.flag() ? NanPolicy::skip : NanPolicy::propagate;
  ReduceAccumulator result(device, dtype, op, {.nan = rule});
  State& s = *result.state_;
  s.count = from.elements();
  s.found.nonzero = from.number();
  from.require(s.found.nonzero <= (op == ReduceOp::count_nonzero ? s.count : 0));
  for (int which = 0; which < 2; ++which) {
    Extreme& extreme = s.found.extremes[which];
    extreme.index = from.number();
    extreme.bits = from.number();
    if (s.count == 0 || !wants(op, which)) {
      from.require(extreme.index == Extreme().index && extreme.bits == 0);
      continue;
    }
    from.require(extreme.index < s.count && extreme.bits <= ~std::uint64_t{0} >> (64 - 8 * size_of(dtype)));
    extreme.rank = rank_of_bits(dtype, {which == 1, s.skip}, extreme.bits);
  }
  from.end();
  return result;
}

Dtype ReduceAccumulator::dtype() const noexcept {
  return state_->dtype;
}

ReduceOp ReduceAccumulator::op() const noexcept {
  return state_->op;
}

std::uint64_t ReduceAccumulator::count() const noexcept {
  return state_->count;
}

ReduceResult ReduceAccumulator::result() const {
  const FloatingPointScope usual;
  if (state_->count == 0 && state_->op != ReduceOp::count_nonzero) {
    call::refuse(reduce_name, fmt::format("{} needs at least one element, got none", to_string(state_->op)));
  }
  return ReduceParts::make(state_->dtype, state_->op, state_->skip, {state_->found});
}

Times ReduceAccumulator::times() const {
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

namespace {

void check_indices(std::span<const std::uint64_t> indices, std::string_view name) {
  const auto found = std::find(indices.begin(), indices.end(), no_index);
  if (found == indices.end()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: row {} has only NaNs, which are skipped", name, found - indices.begin()));
}

}  // namespace

ReduceResult ReduceParts::make(Dtype dtype, ReduceOp op, bool skip, const std::vector<Reduced>& rows) {
  ReduceResult result;
  result.dtype_ = dtype;
  result.op_ = op;
  result.rows_ = rows.size();
  if (op == ReduceOp::count_nonzero) {
    for (const Reduced& row : rows) result.nonzero_.push_back(row.nonzero);
    return result;
  }
  const std::size_t size = size_of(dtype);
  for (int which = 0; which < 2; ++which) {
    if (!wants(op, which)) continue;
    result.values_[which].resize(rows.size() * size);
    result.indices_[which].resize(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Extreme& extreme = rows[row].extremes[which];
      std::memcpy(result.values_[which].data() + row * size, &extreme.bits, size);
      result.indices_[which][row] = extreme.place(dtype, skip);
    }
  }
  return result;
}

ArrayView ReduceResult::min_values() const {
  if (!wants(op_, 0)) call::refuse(reduce_name, fmt::format("the least was not asked for, but {}", to_string(op_)));
  return {dtype_, values_[0].data(), rows_};
}

ArrayView ReduceResult::max_values() const {
  if (!wants(op_, 1)) call::refuse(reduce_name, fmt::format("the greatest was not asked for, but {}", to_string(op_)));
  return {dtype_, values_[1].data(), rows_};
}

std::span<const std::uint64_t> ReduceResult::min_indices() const {
  (void)min_values();
  check_indices(indices_[0], "argmin");
  return indices_[0];
}

std::span<const std::uint64_t> ReduceResult::max_indices() const {
  (void)max_values();
  check_indices(indices_[1], "argmax");
  return indices_[1];
}

std::span<const std::uint64_t> ReduceResult::nonzero() const {
  if (op_ != ReduceOp::count_nonzero) {
    call::refuse(reduce_name,
                 fmt::format("the number of elements that are not zero was not asked for, but {}", to_string(op_)));
  }
  return nonzero_;
}

const void* ReduceResult::element(const ArrayView& values, Dtype dtype, std::uint64_t row) const {
  if (dtype != dtype_) {
    call::refuse(reduce_name, fmt::format("the elements are {}, got {}", to_string(dtype_), to_string(dtype)));
  }
  if (row >= rows_) call::refuse(reduce_name, fmt::format("the result has {} rows, got row {}", rows_, row));
  return static_cast<const std::byte*>(values.data) + row * size_of(dtype_);
}

}  // namespace masu

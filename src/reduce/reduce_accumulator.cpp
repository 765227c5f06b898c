// SPDX-License-Identifier: Apache-2.0
// Data that comes in pieces.
#include "call/accumulator.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace masu {

template <>
struct detail::Accumulator<ReduceAccumulator>::State : call::AccumulatorState {
  static constexpr call::StateName name{"ReduceAccumulator", "MRED"};
  static constexpr std::string_view function = reduce_name;

  // A piece whose result has not been fetched.
  struct Piece {
    Stream* stream;
    std::uint64_t first;
    DeviceReduce job;
  };

  State(const Device& on, Dtype type, ReduceOp operation, bool skips)
      : AccumulatorState(on, type), op(operation), skip(skips) {}

  void take(Reduced piece, std::uint64_t first) {
    for (Extreme& extreme : piece.extremes) extreme.index += first;
    found.merge(piece);
  }

  void fetch(Piece& piece) { take(piece.job.fetch(*piece.stream).front(), piece.first); }

  Piece start(Stream& stream, const BufferBase& data, std::uint64_t elements) {
    const reduce_plan::Plan plan = reduce_plan::make(device.info(), dtype, op, skip, 1, elements);
    Piece piece{&stream, count, DeviceReduce(data, plan, Buffer<std::byte>(device, plan.workspace()))};
    piece.job.start(stream, data);
    count += elements;
    return piece;
  }

  void add(const ArrayView& data) {
    if (call::on_cpu(device)) {
      const call::Timer timer(&times, &Times::compute);
      found.merge(reduce_cpu(data, 1, op, skip, count).front());
      count += data.count;
      return;
    }
    // The result of a piece is fetched when the next but one begins: until then copies go on beside the kernels.
    std::deque<Piece> under_way;
    const auto fetch_first = [&] {
      fetch(under_way.front());
      times.compute += under_way.front().job.seconds();
      under_way.pop_front();
    };
    stage().pieces(data, 1, [&](Stream& stream, const BufferBase& buffer, std::uint64_t elements) {
      under_way.push_back(start(stream, buffer, elements));
      if (under_way.size() == 2) fetch_first();
    });
    while (!under_way.empty()) fetch_first();
  }

  void add(const BufferBase& data) {
    const call::Timer timer(&times, &Times::compute);
    Stream stream = call::timed_stream(device, false);
    Piece piece = start(stream, data, data.size_bytes() / size_of(dtype));
    fetch(piece);
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("the {} of {}, NaN {}", to_string(op), to_string(dtype), skip ? "skipped" : "propagated");
  }

  void merge(const State& later) {
    call::check_same(*this, later);
    (void)call::elements_of_both("ReduceAccumulator::merge", count, later.count);
    if (later.count == 0) return;
    take(later.found, count);
    count += later.count;
  }

  void write(call::StateWriter& to) const {
    to.dtype(dtype);
    to.number(static_cast<std::uint64_t>(op), 1);
    to.number(skip ? 1 : 0, 1);
    to.number(count);
    to.number(op == ReduceOp::count_nonzero ? found.nonzero : 0);
    for (int which = 0; which < 2; ++which) {
      const Extreme extreme = count != 0 && wants(op, which) ? found.extremes[which] : Extreme();
      to.number(extreme.index);
      to.number(extreme.bits);
    }
  }

  static ReduceAccumulator read(const Device& device, call::StateReader& from) {
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
    return result;
  }

  ReduceOp op;
  bool skip;
  Reduced found{};
};

template class detail::Accumulator<ReduceAccumulator>;
template class detail::BufferAccumulator<ReduceAccumulator>;

ReduceAccumulator::ReduceAccumulator(const Device& device, Dtype dtype, ReduceOp op, const ReduceOptions& options) {
  call::check_one_row(reduce_name, options.rows);
  call::check_nan(reduce_name, options.nan, NanPolicy::propagate);
  state_ = detail::make_hidden<State>(device, dtype, op, options.nan == NanPolicy::skip);
}

ReduceOp ReduceAccumulator::op() const noexcept {
  return state_->op;
}

ReduceResult ReduceAccumulator::result() const {
  const FloatingPointScope usual;
  if (state_->count == 0 && state_->op != ReduceOp::count_nonzero) {
    call::refuse(reduce_name, fmt::format("{} needs at least one element, got none", to_string(state_->op)));
  }
  return ReduceParts::make(state_->dtype, state_->op, state_->skip, {state_->found});
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

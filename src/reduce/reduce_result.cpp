// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce_rank.h"

#include "call/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace masu {

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

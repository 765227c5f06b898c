// SPDX-License-Identifier: Apache-2.0
#include "topk/topk_results.h"

#include "call/operands.h"
#include "call/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace masu {

namespace {

[[noreturn]] void no_memory(std::uint64_t k, std::uint64_t rows) {
  throw Error(ErrorCode::out_of_memory,
              fmt::format("topk: results of {} elements in {} rows do not fit host memory", k, rows));
}

}  // namespace

TopkResult TopkParts::make(Dtype dtype, std::uint64_t rows, std::uint64_t k) try {
  TopkResult result;
  result.dtype_ = dtype;
  result.stride_ = k;
  result.found_.assign(rows, k);
  result.skipped_.assign(rows, 0);
  result.indices_.resize(rows * k);
  result.values_.resize(rows * k * size_of(dtype));
  return result;
} catch (const std::bad_alloc&) {
  no_memory(k, rows);
} catch (const std::length_error&) {
  no_memory(k, rows);
}

cpu::RowsTarget TopkParts::target(TopkResult& result) {
  return {result.indices_.data(), result.values_.data(), result.found_.data(), result.skipped_.data()};
}

TopkResult TopkParts::of(Dtype dtype, const std::vector<cpu::TopkEntry>& entries, std::uint64_t skipped) {
  TopkResult result = make(dtype, 1, entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    result.indices_[i] = entries[i].index;
    std::memcpy(result.values_.data() + i * size_of(dtype), &entries[i].bits, size_of(dtype));
  }
  result.skipped_[0] = skipped;
  return result;
}

TopkResult TopkParts::finish(Stream& stream, DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k,
                             bool queued, Times* times) {
  TopkResult result = make(dtype, rows, k);
  std::vector<std::uint32_t> nans(rows);
  const DeviceTopk::HostTarget target{result.indices_.data(), result.values_.data(), nans};
  const bool fetched = !queued && job.finish(stream, &target);
  if (times != nullptr) times->compute += job.seconds();
  if (!fetched) {
    const call::Timer timer(times, &Times::transfer);
    job.fetch(stream, target);
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    result.skipped_[row] = nans[row];
    if (result.skipped_[row] == 0) continue;
    const auto first = result.indices_.begin() + static_cast<std::ptrdiff_t>(row * k);
    result.found_[row] =
        static_cast<std::uint64_t>(std::find(first, first + static_cast<std::ptrdiff_t>(k), no_index) - first);
  }
  return result;
}

void TopkResult::check_row(std::uint64_t row) const {
  if (row >= found_.size())
    call::refuse(topk_name, fmt::format("the result has {} rows, got row {}", found_.size(), row));
}

std::uint64_t TopkResult::size(std::uint64_t row) const {
  check_row(row);
  return found_[row];
}

std::span<const std::uint64_t> TopkResult::indices(std::uint64_t row) const {
  const std::uint64_t length = size(row);
  return std::span(indices_).subspan(row * stride_, length);
}

const void* TopkResult::values(Dtype dtype, std::uint64_t row) const {
  if (dtype != dtype_)
    call::refuse(topk_name, fmt::format("the values are {}, got {}", to_string(dtype_), to_string(dtype)));
  check_row(row);
  return values_.data() + row * stride_ * size_of(dtype_);
}

std::uint64_t TopkResult::skipped(std::uint64_t row) const {
  check_row(row);
  return skipped_[row];
}

}  // namespace masu

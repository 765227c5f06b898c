// SPDX-License-Identifier: Apache-2.0
// What masu reduce finds: several operations on all of the data, or on each of its rows, in one pass.
#pragma once

#include "cli/arrays/array_stream.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

struct ReduceRequest {
  std::vector<std::string> ops;
  Dtype result = Dtype::f64;
  std::uint64_t ddof = 0;
  std::uint64_t rows = 1;
  std::optional<std::uint64_t> row_length;  // where rows were asked for
  std::uint64_t memory = 0;
};

// What one operation gives: an element for each row.
struct ReduceColumn {
  Dtype dtype = Dtype::f64;
  std::vector<std::byte> bytes;

  ReduceColumn() = default;
  explicit ReduceColumn(Dtype type) : dtype(type) {}
  explicit ReduceColumn(const ArrayView& values) : dtype(values.dtype) { append(values); }
  void append(const ArrayView& values);
  [[nodiscard]] ArrayView view() const { return {dtype, bytes.data(), bytes.size() / size_of(dtype)}; }
};

struct ReduceFound {
  std::vector<ReduceColumn> columns;  // in the order of the operations
  std::uint64_t count = 0;
  Times times;
};

// sum, mean, …: what --op takes.
std::vector<std::string> reduce_op_names();

// Throws io where a result is not defined: extremes and means of nothing, integers that do not fit.
ReduceFound run_reduce(ArrayStream& stream, const ReduceRequest& request);

// The same by a plain sequential program, one column for each operation.
std::vector<ReduceColumn> reference_reduce(const ArrayView& data, const ReduceRequest& request);

}  // namespace masu::cli

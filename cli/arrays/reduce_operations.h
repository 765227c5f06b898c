// SPDX-License-Identifier: Apache-2.0
// What --op of masu reduce takes, and what has to be kept of the data for it.
#pragma once

#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"

#include <masu/reduce.h>
#include <masu/sum.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

// What one kind of reduction found for each row so far.
struct Reduced {
  explicit Reduced(Dtype dtype) : least(dtype), greatest(dtype) {}
  Column least;
  Column greatest;
  Column least_place{Dtype::u64};
  Column greatest_place{Dtype::u64};
  Column nonzero{Dtype::u64};

  void append(const ReduceResult& result) {
    const bool both = result.op() == ReduceOp::minmax;
    if (result.op() == ReduceOp::count_nonzero) return nonzero.append(ArrayView(result.nonzero()));
    if (both || result.op() == ReduceOp::min) {
      least.append(result.min_values());
      least_place.append(ArrayView(result.min_indices()));
    }
    if (both || result.op() == ReduceOp::max) {
      greatest.append(result.max_values());
      greatest_place.append(ArrayView(result.max_indices()));
    }
  }
};

// All that was found; what no operation needs is left out.
struct Totals {
  const ReduceRequest& request;
  std::optional<SumAccumulator> sums;
  Reduced reduced;
  std::uint64_t rows = 1;
  std::uint64_t count = 0;    // of each row
  std::uint64_t skipped = 0;  // entries that were left out
  Column median = {};

  // The same number for each row.
  [[nodiscard]] Column each(std::uint64_t number) const {
    const std::vector<std::uint64_t> numbers(rows, number);
    return Column(ArrayView(numbers));
  }
};

struct Operation {
  std::string_view name;
  // What has to be kept: a kind of sums, or a reduction.
  std::optional<SumKind> sums;
  std::optional<ReduceOp> reduction;
  bool of_nothing;  // whether data without elements have it
  Column (*column)(const Totals& totals);
  bool is_count = false;
};

const Operation& operation(const std::string& name);
// How many elements have the result.
std::uint64_t least_count(const std::string& name, const ReduceRequest& request);
std::optional<SumAccumulator> sums_for(const Device& device, Dtype dtype, const ReduceRequest& request);
std::vector<ReduceOp> reductions_for(const ReduceRequest& request);

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/reduce_job.h"
#include "cli/chunks.h"
#include "cli/selftest/references.h"
#include "json.h"

#include <masu/error.h>

namespace masu::cli {
namespace {

// Where the extreme of a row is: the first NaN, else the first element that no other one precedes (follows).
std::uint64_t place_of(const ArrayView& row, bool greatest) {
  // The order puts NaNs last, so a value that the greatest finite number or infinity precedes is one.
  std::uint64_t best = 0;
  std::uint64_t last = 0;
  for (std::uint64_t i = 1; i < row.count; ++i) {
    if (greatest ? precedes(row, best, row, i) : precedes(row, i, row, best)) best = i;
    if (precedes(row, last, row, i)) last = i;
  }
  return is_nan(row, last) ? last : best;
}

struct Row {
  const ArrayView& data;
  const ReduceRequest& request;
};

ReduceColumn rounded(double value, Dtype to) {
  const std::uint64_t bits = bits_of(value, to);
  return ReduceColumn(ArrayView(to, &bits, 1));
}

ReferenceSum sum_of(const Row& row) {
  ReferenceSum sum;
  for (std::uint64_t i = 0; i < row.data.count; ++i) sum.add(row.data, i);
  return sum;
}

ReferenceSum squares_of(const Row& row) {
  ReferenceSum sum;
  for (std::uint64_t i = 0; i < row.data.count; ++i) sum.add_product(row.data, i, row.data, i);
  return sum;
}

ReduceColumn reference_sum(const Row& row) {
  const ReferenceSum sum = sum_of(row);
  if (is_float(row.data.dtype)) return rounded(sum.sum(row.request.result), row.request.result);
  const bool with_sign = is_signed(row.data.dtype);
  std::uint64_t bits = 0;
  if (!sum.integer(with_sign, bits)) throw Error(ErrorCode::io, "the reference's sum does not fit into 64 bits");
  return ReduceColumn(ArrayView(with_sign ? Dtype::i64 : Dtype::u64, &bits, 1));
}

ReduceColumn reference_mean(const Row& row) {
  return rounded(sum_of(row).mean(row.request.result), row.request.result);
}

ReduceColumn reference_variance(const Row& row) {
  return rounded(sum_of(row).variance(squares_of(row), row.request.ddof, row.request.result), row.request.result);
}

ReduceColumn reference_deviation(const Row& row) {
  return rounded(sum_of(row).standard_deviation(squares_of(row), row.request.ddof, row.request.result),
                 row.request.result);
}

ReduceColumn reference_norm(const Row& row) {
  return rounded(squares_of(row).root(row.request.result), row.request.result);
}

template <bool greatest>
ReduceColumn reference_place(const Row& row) {
  const std::uint64_t place = place_of(row.data, greatest);
  return ReduceColumn(ArrayView(Dtype::u64, &place, 1));
}

template <bool greatest>
ReduceColumn reference_extreme(const Row& row) {
  return ReduceColumn(part_of(row.data, place_of(row.data, greatest), 1));
}

ReduceColumn reference_nonzero(const Row& row) {
  const std::uint64_t zero = 0;
  const ArrayView nothing(row.data.dtype, &zero, 1);
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < row.data.count; ++i) count += differ(row.data, i, nothing, 0) ? 1 : 0;
  return ReduceColumn(ArrayView(Dtype::u64, &count, 1));
}

struct Reference {
  std::string_view name;
  ReduceColumn (*of)(const Row& row);
};
constexpr Reference references[] = {{"sum", reference_sum},
                                    {"mean", reference_mean},
                                    {"min", reference_extreme<false>},
                                    {"max", reference_extreme<true>},
                                    {"argmin", reference_place<false>},
                                    {"argmax", reference_place<true>},
                                    {"variance", reference_variance},
                                    {"std", reference_deviation},
                                    {"norm2", reference_norm},
                                    {"count-nonzero", reference_nonzero}};

}  // namespace

std::vector<ReduceColumn> reference_reduce(const ArrayView& data, const ReduceRequest& request) {
  std::vector<ReduceColumn> columns;
  const std::uint64_t length = data.count / request.rows;
  for (const std::string& name : request.ops) {
    ReduceColumn column;
    for (std::uint64_t row = 0; row < request.rows; ++row) {
      const ArrayView part = part_of(data, row * length, length);
      for (const Reference& one : references) {
        if (one.name != name) continue;
        const ReduceColumn found = one.of({part, request});
        column.dtype = found.dtype;
        column.append(found.view());
      }
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace masu::cli

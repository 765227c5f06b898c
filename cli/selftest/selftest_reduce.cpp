// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/pieces.h"
#include "cli/arrays/reduce_job.h"
#include "cli/selftest/selftest.h"
#include "element_text.h"

#include <fmt/format.h>
#include <masu/reduce.h>

namespace masu::cli {
namespace {

constexpr std::array reduce_distributions = {"uniform", "few", "sorted", "constant", "reversed", "zipf"};

struct Rows {
  ArrayView data;
  std::uint64_t rows;
};

bool same(const ArrayView& found, const ReduceColumn& expected) {
  const ArrayView values = expected.view();
  bool right = found.dtype == values.dtype && found.count == values.count;
  for (std::uint64_t i = 0; right && i < found.count; ++i) right = bits_of(found, i) == bits_of(values, i);
  return right;
}

std::vector<ReduceColumn> reference(const Rows& rows, std::vector<std::string> ops) {
  ReduceRequest request;
  request.ops = std::move(ops);
  request.rows = rows.rows;
  return reference_reduce(rows.data, request);
}

bool extremes(const Device& device, const Rows& rows) {
  const auto expected = reference(rows, {"min", "argmin", "max", "argmax"});
  ReduceOptions options;
  options.rows = rows.rows;
  const ReduceResult both = reduce(device, rows.data, ReduceOp::minmax, options);
  const ReduceResult least = reduce(device, rows.data, ReduceOp::min, options);
  const ReduceResult greatest = reduce(device, rows.data, ReduceOp::max, options);
  return same(both.min_values(), expected[0]) && same(ArrayView(both.min_indices()), expected[1]) &&
         same(both.max_values(), expected[2]) && same(ArrayView(both.max_indices()), expected[3]) &&
         same(least.min_values(), expected[0]) && same(ArrayView(greatest.max_indices()), expected[3]);
}

// The reference of what is left when NaNs are taken away; the places counted among all.
bool extremes_without_nan(const Device& device, const Rows& rows) {
  ReduceOptions options;
  options.rows = rows.rows;
  options.nan = NanPolicy::skip;
  const ReduceResult found = reduce(device, rows.data, ReduceOp::minmax, options);
  const std::uint64_t length = rows.data.count / rows.rows;
  for (std::uint64_t row = 0; row < rows.rows; ++row) {
    ReduceColumn kept(rows.data.dtype);
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < length; ++i) {
      if (is_nan(rows.data, row * length + i)) continue;
      kept.append(part_of(rows.data, row * length + i, 1));
      places.push_back(i);
    }
    if (places.empty()) continue;
    const auto expected = reference({kept.view(), 1}, {"min", "argmin", "max", "argmax"});
    const bool values = bits_of(found.min_values(), row) == bits_of(expected[0].view(), 0) &&
                        bits_of(found.max_values(), row) == bits_of(expected[2].view(), 0);
    const bool indices = found.min_indices()[row] == places[bits_of(expected[1].view(), 0)] &&
                         found.max_indices()[row] == places[bits_of(expected[3].view(), 0)];
    if (!values || !indices) return false;
  }
  return true;
}

bool nonzero(const Device& device, const Rows& rows) {
  ReduceOptions options;
  options.rows = rows.rows;
  const ReduceResult found = reduce(device, rows.data, ReduceOp::count_nonzero, options);
  return same(ArrayView(found.nonzero()), reference(rows, {"count-nonzero"}).front());
}

bool pieces(const Device& device, const Rows& rows) {
  ReduceAccumulator first(device, rows.data.dtype, ReduceOp::minmax);
  ReduceAccumulator second(device, rows.data.dtype, ReduceOp::minmax);
  const std::uint64_t third = rows.data.count / 3;
  first.add(part_of(rows.data, 0, third));
  second.add(part_of(rows.data, third, third));
  second.add(part_of(rows.data, 2 * third, rows.data.count - 2 * third));
  first.merge(second);
  const ReduceResult found = first.result();
  const auto expected = reference({rows.data, 1}, {"min", "argmin", "max", "argmax"});
  return same(found.min_values(), expected[0]) && same(ArrayView(found.min_indices()), expected[1]) &&
         same(found.max_values(), expected[2]) && same(ArrayView(found.max_indices()), expected[3]);
}

struct ReduceShape {
  std::uint64_t rows;
  std::uint64_t length;
};

struct ReduceOperation {
  const char* name;
  bool (*run)(const Device& device, const Rows& rows);
};
constexpr std::array<ReduceOperation, 4> reduce_operations{{{"extremes", extremes},
                                                            {"extremes without NaN", extremes_without_nan},
                                                            {"values that are not zero", nonzero},
                                                            {"extremes of pieces", pieces}}};

}  // namespace

// Distributions take turns; every third case has NaNs and zeros of both signs.
void selftest_reduce(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype dtype : selftest_dtypes) {
    for (const ReduceShape& shape : {ReduceShape{1, 1}, {1, 70001}, {30, 137}}) {
      for (const ReduceOperation& operation : reduce_operations) {
        const char* const distribution = reduce_distributions[++number % reduce_distributions.size()];
        const std::string name = fmt::format("{} of {} rows of {} {} {} values", operation.name, shape.rows,
                                             shape.length, distribution, to_string(dtype));
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::uint64_t count = shape.rows * shape.length;
          const std::vector<std::byte> bytes = number % 3 == 0
                                                   ? selftest_special_data(dtype, distribution, count, number)
                                                   : selftest_data(dtype, distribution, count, number);
          return operation.run(device, {{dtype, bytes.data(), count}, shape.rows});
        });
      }
    }
  }
}

}  // namespace masu::cli

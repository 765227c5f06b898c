// SPDX-License-Identifier: Apache-2.0
#include "histogram/weighted_state.h"

#include "call/operands.h"

#include <fmt/format.h>

#include <limits>
#include <new>
#include <string>
#include <utility>

namespace masu {

namespace {

constexpr std::uint64_t most_slots = std::uint64_t{1} << 31;
constexpr std::uint64_t most_weighted_rows = std::uint64_t{1} << 32;

}  // namespace

void check_weights(Dtype expected, Dtype got) {
  if (expected != got) {
    call::refuse(weighted_name,
                 fmt::format("weights must be {} as before, got {}", to_string(expected), to_string(got)));
  }
}

void check_weighted_lengths(std::uint64_t elements, std::uint64_t weights) {
  if (elements != weights) {
    call::refuse(weighted_name, fmt::format("there must be a weight for each element, got {} elements and {} weights",
                                            elements, weights));
  }
}

std::uint64_t weighted_row_elements(std::uint64_t count, const WeightedOptions& options) {
  if (options.rows != 0 && count % options.rows != 0) {
    call::refuse(weighted_name, fmt::format("{} rows must divide the elements, got {}", options.rows, count));
  }
  return options.rows == 0 ? 0 : count / options.rows;
}

WeightedShape::WeightedShape(Dtype dtype, Dtype of_weights, std::span<const Bins> bins, const WeightedOptions& given,
                             std::uint64_t elements)
    : options(given), weights_dtype(of_weights), row_elements(elements) {
  const std::uint64_t rows = options.rows;
  check_column_count(weighted_name, bins.size());
  if (rows < 1 || rows > most_weighted_rows) {
    call::refuse(weighted_name, fmt::format("rows must be 1 to {}, got {}", most_weighted_rows, rows));
  }
  if (rows > 1 && bins.size() > 1) {
    call::refuse(weighted_name, fmt::format("rows are for one column, got {} columns", bins.size()));
  }
  if (rows > 1 && elements > std::numeric_limits<std::uint64_t>::max() / rows) {
    call::refuse(weighted_name,
                 fmt::format("rows must have fewer than 2^64 elements in all, got {} of {}", rows, elements));
  }
  if (rows == 1) row_elements = no_row_end;
  for (const Bins& column : bins) {
    auto rule = std::make_shared<const BinRule>(column, dtype, options.right_open, bins.size() > 1, options.outside);
    if (rule->n > most_slots / rows / joint_bins) {
      call::refuse(weighted_name, fmt::format("rows * joint bins must be at most 2^31, got {} * {} and more",
                                              rows * joint_bins, rule->n));
    }
    joint_bins *= rule->n;
    rules.push_back(std::move(rule));
  }
  slots = joint_bins + (bins.size() > 1 ? 2 : extra_slots);
  formats.emplace_back(weights_dtype, false);
  if (options.variances) formats.emplace_back(weights_dtype, true);
}

void WeightedShape::refuse_total(std::uint64_t i) const {
  const std::uint64_t row = i / slots;
  const std::uint64_t slot = i % slots;
  std::string where;
  const bool joint = rules.size() > 1;
  constexpr std::string_view of_one[] = {"the values below the bins", "the values above the bins", "the NaNs"};
  constexpr std::string_view of_several[] = {"the points outside of the bins", "the points with a NaN"};
  if (slot >= joint_bins) {
    where = joint ? of_several[slot - joint_bins] : of_one[slot - joint_bins];
  } else {
    where = fmt::format("{} {}", joint ? "joint bin" : "bin", slot);
    for (std::uint64_t stride = joint_bins, d = 0; joint && d < rules.size(); ++d) {
      stride /= rules[d]->n;
      where += fmt::format("{}{}", d == 0 ? " (" : ", ", slot / stride % rules[d]->n);
      if (d + 1 == rules.size()) where += ")";
    }
  }
  if (options.rows > 1) where += fmt::format(" of row {}", row);
  call::refuse(weighted_name, fmt::format("the total of {} must fit {}, got one that does not", where,
                                          is_signed(weights_dtype) ? "i64" : "u64"));
}

WeightedHistogram WeightedShape::of(std::uint64_t n, std::vector<double> totals, std::vector<double> variances,
                                    const std::vector<std::uint64_t>& integers) const {
  WeightedHistogram result;
  result.rows_ = options.rows;
  result.joint_bins_ = joint_bins;
  result.extras_ = slots - joint_bins;
  result.n_ = n;
  result.dtype_ = dtype();
  result.weights_dtype_ = weights_dtype;
  result.rules_ = rules;
  result.totals_ = std::move(totals);
  result.variances_ = std::move(variances);
  if (is_signed(weights_dtype)) result.signed_.assign(integers.begin(), integers.end());
  else result.unsigned_ = integers;
  return result;
}

WeightedState::WeightedState(WeightedShape shape, const Device& on)
    : WeightedShape(std::move(shape)), AccumulatorState{on} {
  if (call::on_cpu(device)) return;
  counter = std::make_unique<DeviceCounter>(
      device,
      [&](const TableUpload& upload) {
        auto made = std::make_unique<WeightedKernels>(device, WeightedKernels::columns_of(device, rules), formats,
                                                      options, row_elements, upload);
        kernels = made.get();
        return made;
      },
      options.memory);
}

std::uint64_t WeightedState::sums_bytes() const {
  std::uint64_t bytes = 0;
  for (const WeightFormat& format : formats) bytes += WeightSums::bytes_for(format, numbers());
  return bytes;
}

std::vector<WeightSums> WeightedState::zeros() const try {
  check_memory(weighted_name, numbers(), sums_bytes());
  std::vector<WeightSums> result;
  for (const WeightFormat& format : formats) result.emplace_back(format, numbers());
  return result;
} catch (const std::bad_alloc&) {
  no_memory(weighted_name, numbers(), sums_bytes());
}

std::uint64_t WeightedState::check(const Columns& columns, Dtype of_weights, std::uint64_t weights,
                                   const Stream* stream) const {
  const std::uint64_t count = checked_length(weighted_name, rules, columns, device, stream);
  check_weights(weights_dtype, of_weights);
  check_weighted_lengths(count, weights);
  const std::uint64_t all = row_elements * options.rows;
  if (count > all - position) {
    call::refuse(weighted_name, fmt::format("{} rows hold {} elements, got {}", options.rows, all, position + count));
  }
  return count;
}

void WeightedState::make_sums() {
  if (counter || on_cpu) return;
  if (sums.empty()) sums = zeros();
  on_cpu = std::make_unique<cpu::WeightedCounter>(rules, options.rows, row_elements, sums);
}

void WeightedState::advance(std::uint64_t elements) {
  position += elements;
  n += elements;
}

void WeightedState::add(const Columns& data, std::uint64_t elements, Stream* stream) {
  if (elements == 0) return;
  make_sums();
  count(data, elements, stream);
  advance(elements);
}

std::vector<WeightSums> WeightedState::collect() const {
  std::vector<WeightSums> result = sums.empty() ? zeros() : sums;
  if (counter) kernels->collect(counter->totals(), result);
  for (WeightSums& each : result) each.propagate(0, each.slots());
  return result;
}

}  // namespace masu

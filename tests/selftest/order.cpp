// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "tests/selftest/selftest.h"

#include <fmt/format.h>
#include <masu/quantile.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/topk.h>
#include <masu/unique.h>
#include <algorithm>
#include <cstring>
#include <numeric>

namespace masu::cli {
namespace {

constexpr std::array algorithms = {SortAlgorithm::automatic, SortAlgorithm::radix, SortAlgorithm::merge};
constexpr std::array sort_distributions = {"uniform", "constant", "sorted", "reversed", "few", "runs", "zipf"};
constexpr std::array<std::uint64_t, 5> sort_sizes = {0, 1, 1020, 4099, 70000};
constexpr std::uint64_t most_by_name = 4099;  // more takes long on small devices

struct SortCase {
  const Device& device;
  ArrayView data;
  std::vector<std::byte> keys;  // to be sorted
  SortOptions options;
  std::vector<std::uint64_t> bounds;  // of rows or segments
  std::vector<std::uint64_t> right;   // the order
  [[nodiscard]] MutableArrayView view() { return {data.dtype, keys.data(), data.count}; }
};

bool keys_alone(SortCase& test) {
  sort(test.device, test.view(), test.options);
  return are_elements(test.keys.data(), test.data, test.right);
}

bool to_another_place(SortCase& test) {
  std::vector<std::byte> result(test.keys.size());
  sort(test.device, test.data, {test.data.dtype, result.data(), test.data.count}, test.options);
  return are_elements(result.data(), test.data, test.right);
}

bool with_values(SortCase& test) {
  std::vector<std::uint32_t> values(test.data.count);
  std::iota(values.begin(), values.end(), 0U);
  sort_by_key(test.device, test.view(), RecordsView(values), test.options);
  return std::equal(values.begin(), values.end(), test.right.begin()) &&
         are_elements(test.keys.data(), test.data, test.right);
}

bool order_alone(SortCase& test) {
  std::vector<std::uint64_t> found(test.data.count);
  argsort(test.device, test.data, MutableArrayView(found), test.options);
  for (std::size_t i = 1; i < test.bounds.size(); ++i) {  // from places in a row or segment to places in the data
    for (std::uint64_t at = test.bounds[i - 1]; at < test.bounds[i]; ++at) found[at] += test.bounds[i - 1];
  }
  return found == test.right;
}

bool order_is_kept(SortCase& test) {
  for (std::uint64_t i = 0; i < test.right.size(); ++i) {
    std::memcpy(test.keys.data() + i * size_of(test.data.dtype), element_at(test.data, test.right[i]),
                size_of(test.data.dtype));
  }
  return is_sorted(test.device, test.view(), test.options);
}

struct SortOperation {
  const char* name;
  bool (*run)(SortCase& test);
};
constexpr std::array<SortOperation, 5> sort_operations{{{"keys", keys_alone},
                                                        {"keys out of place", to_another_place},
                                                        {"keys and values", with_values},
                                                        {"order", order_alone},
                                                        {"check", order_is_kept}}};

// Bounds of `rows` rows, or where there are none, of segments of very different lengths that leave out both ends.
std::vector<std::uint64_t> bounds_of(std::uint64_t size, std::uint64_t rows) {
  if (rows == 0) return {size / 9, size / 9, size / 3, size / 3 + (size > 1 ? 1 : 0), size - size / 5};
  std::vector<std::uint64_t> bounds;
  for (std::uint64_t row = 0; row <= rows; ++row) bounds.push_back(size / rows * row);
  return bounds;
}

}  // namespace

std::vector<std::byte> selftest_special_data(Dtype dtype, std::string_view distribution, std::uint64_t count,
                                             std::uint64_t seed) {
  std::vector<std::byte> bytes = selftest_data(dtype, distribution, count, seed);
  if (!is_float(dtype)) return bytes;
  // The highest bits of +0, -0, infinities, and NaNs of both signs; a lower bit makes another payload.
  constexpr std::array<unsigned, 6> f16 = {0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe00};
  // And of bf16.
  constexpr std::array<unsigned, 6> f32 = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xffc0};
  constexpr std::array<unsigned, 6> f64 = {0x0000, 0x8000, 0x7ff0, 0xfff0, 0x7ff8, 0xfff8};
  const auto& special = dtype == Dtype::f16 ? f16 : dtype == Dtype::f64 ? f64 : f32;
  const std::size_t size = size_of(dtype);
  for (std::uint64_t i = seed % 3; i < count; i += 5 + i % 7) {
    const std::uint64_t kind = (i + seed) % special.size();
    const bool nan = kind >= 4;
    const std::uint64_t bits = (std::uint64_t{special[kind]} << (8 * (size - 2))) + (nan ? i % 3 : 0);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

void selftest_each(const Device& device, SelftestTally& tally, std::span<const SelftestShape> shapes,
                   std::span<const SelftestCheck> checks, std::uint64_t special) {
  constexpr std::array distributions = {"uniform", "few", "sorted", "constant", "reversed", "zipf", "runs"};
  std::uint64_t number = 0;
  for (const Dtype dtype : all_dtypes) {
    for (const SelftestShape& shape : shapes) {
      for (const SelftestCheck& check : checks) {
        const char* const distribution = in_turn(distributions, ++number);
        const std::string name = fmt::format("{} of {} rows of {} {} {} values, case {}", check.name, shape.rows,
                                             shape.length, distribution, to_string(dtype), number);
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::uint64_t count = shape.rows * shape.length;
          const auto make = number % special == 0 ? selftest_special_data : selftest_data;
          const std::vector<std::byte> bytes = make(dtype, distribution, count, number);
          return check.run({device, {dtype, bytes.data(), count}, shape.rows, number});
        });
      }
    }
  }
}

bool are_elements(const std::byte* bytes, const ArrayView& data, const std::vector<std::uint64_t>& places) {
  const ArrayView found(data.dtype, bytes, places.size());
  for (std::uint64_t i = 0; i < places.size(); ++i) {
    if (!same_bits(found, i, data, places[i])) return false;
  }
  return true;
}

// Algorithms, sort_distributions, orders, rows and segments take turns, so that each meets many dtypes and
// sort_operations.
void selftest_sort(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype dtype : all_dtypes) {
    for (const std::uint64_t size : sort_sizes) {
      for (const SortOperation& operation : sort_operations) {
        ++number;
        SortOptions options;
        // Where each turn needs programs of its own, these change with the dtype alone.
        const std::uint64_t turn = device.kind() == DeviceKind::cpu ? number : static_cast<std::uint64_t>(dtype);
        options.order = turn % 2 == 0 ? Order::ascending : Order::descending;
        const bool by_name = device.kind() != DeviceKind::cpu && size <= most_by_name;
        options.algorithm = algorithms[by_name ? turn / 2 % algorithms.size() : 0];
        const std::uint64_t rows = number % 9 == 4 ? 0 : size % 10 == 0 && size > 0 && number % 3 == 0 ? 10 : 1;
        const char* const distribution = in_turn(sort_distributions, number);
        const std::string name = fmt::format(
            "{} {} of {} {} values, {}, algorithm {}, {}", operation.name, to_string(dtype), size, distribution,
            options.order == Order::ascending ? "ascending" : "descending", to_string(options.algorithm),
            rows == 0   ? "segments"
            : rows == 1 ? "all"
                        : "rows");
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::vector<std::byte> bytes = selftest_special_data(dtype, distribution, size, number);
          const ArrayView data(dtype, bytes.data(), size);
          const std::vector<std::uint64_t> bounds = bounds_of(size, rows);
          SortCase test{device, data, bytes, options, bounds, reference_order(data, options.order, bounds)};
          if (rows == 0) test.options.segments = bounds;
          else test.options.rows = rows;
          return operation.run(test);
        });
      }
    }
  }
}

namespace {

constexpr std::array topk_distributions = {"uniform", "few", "sorted", "constant", "reversed", "zipf"};

struct TopkCase {
  Dtype dtype;
  std::uint64_t rows;
  std::uint64_t length;
  std::uint64_t k;
};

bool right(const TopkResult& found, const ArrayView& data, const TopkCase& test, const TopkOptions& options) {
  for (std::uint64_t row = 0; row < test.rows; ++row) {
    const ArrayView values = part_of(data, row * test.length, test.length);
    const auto expected = reference_topk(values, options.largest ? Order::descending : Order::ascending,
                                         options.nan == NanPolicy::skip, test.k);
    const auto indices = found.indices(row);
    if (!std::equal(indices.begin(), indices.end(), expected.begin(), expected.end())) return false;
    if (!are_elements(static_cast<const std::byte*>(found.view(row).data), values, expected)) return false;
  }
  return true;
}

// In one piece, and in three where there are no rows.
bool run(const Device& device, const ArrayView& data, const TopkCase& test, TopkOptions options) {
  if (test.rows == 1) {
    TopkAccumulator accumulator(device, test.dtype, test.k, options);
    const std::uint64_t third = data.count / 3;
    accumulator.add(part_of(data, 0, third));
    accumulator.add(part_of(data, third, third));
    accumulator.add(part_of(data, 2 * third, data.count - 2 * third));
    if (!right(accumulator.result(), data, test, options)) return false;
  }
  options.rows = test.rows;
  return right(topk(device, data, test.k, options), data, test, options);
}

}  // namespace

// Distributions, ends of the order and the treatment of NaN take turns: of the dtypes alone where each turn needs
// programs of its own.
void selftest_topk(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype dtype : all_dtypes) {
    for (const TopkCase& test :
         {TopkCase{dtype, 1, 1, 1}, {dtype, 1, 70001, 100}, {dtype, 1, 4099, 2000}, {dtype, 30, 137, 5}}) {
      ++number;
      TopkOptions options;
      const std::uint64_t turn = device.kind() == DeviceKind::cpu ? number : static_cast<std::uint64_t>(dtype);
      options.largest = turn % 2 == 0;
      options.nan = turn % 3 == 0 ? NanPolicy::last : NanPolicy::skip;
      const char* const distribution = topk_distributions[number % topk_distributions.size()];
      const std::string name =
          fmt::format("{} {} of {} rows of {} {} values, {}, NaN {}", test.k, options.largest ? "largest" : "smallest",
                      test.rows, test.length, distribution, to_string(dtype), to_string(options.nan));
      selftest_case(device, tally, name, Strategy::automatic, [&] {
        const std::uint64_t count = test.rows * test.length;
        const std::vector<std::byte> bytes = selftest_special_data(dtype, distribution, count, number);
        return run(device, {dtype, bytes.data(), count}, test, options);
      });
    }
  }
}

namespace {

bool distinct_values(const SelftestData& test) {
  const ArrayView& data = test.data;
  UniqueOptions options;
  options.indices = true;
  options.inverse = true;
  const UniqueArrays found = unique(test.device, data, options);
  const std::vector<ReferenceRun> expected = reference_unique(data);
  if (found.size() != expected.size() || found.inverse.size() != data.count) return false;
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    if (found.counts[i] != expected[i].count || found.indices[i] != expected[i].first) return false;
    if (!same_bits(found.values.view(), i, data, expected[i].first)) return false;
  }
  for (std::uint64_t i = 0; i < data.count; ++i) {
    const std::uint64_t at = found.inverse[i];
    if (at >= expected.size() || differ(data, i, data, expected[at].first)) return false;
  }
  return true;
}

bool runs_of_equals(const SelftestData& test) {
  const ArrayView& data = test.data;
  const RunArrays found = run_length(test.device, data);
  std::uint64_t run = 0;
  for (std::uint64_t i = 0; i < data.count; ++run) {
    std::uint64_t end = i + 1;
    while (end < data.count && !differ(data, i, data, end)) ++end;
    if (run >= found.size() || found.starts[run] != i || found.lengths[run] != end - i) return false;
    if (!same_bits(found.values.view(), run, data, i)) return false;
    i = end;
  }
  return run == found.size();
}

// The data's values in a third of the data, in order.
bool places_in_order(const SelftestData& test) {
  const ArrayView& data = test.data;
  const ArrayView part(data.dtype, data.data, data.count / 3);
  std::vector<std::byte> sorted;
  for (const std::uint64_t place : reference_order(part, Order::ascending)) {
    sorted.insert(sorted.end(), element_at(part, place), element_at(part, place + 1));
  }
  const ArrayView table(data.dtype, sorted.data(), part.count);
  for (const Side side : {Side::left, Side::right}) {
    std::vector<std::uint64_t> found(data.count);
    SearchOptions options;
    options.side = side;
    searchsorted(test.device, table, data, MutableArrayView(found), options);
    if (found != reference_search(table, data, side == Side::right)) return false;
  }
  return true;
}

constexpr std::array<SelftestShape, 3> unique_shapes{{{1, 0}, {1, 4099}, {1, 70001}}};
constexpr std::array<SelftestCheck, 3> unique_checks{
    {{"distinct values", distinct_values}, {"runs", runs_of_equals}, {"search", places_in_order}}};

}  // namespace

void selftest_unique(const Device& device, SelftestTally& tally) {
  selftest_each(device, tally, unique_shapes, unique_checks, 1);
}

namespace {

constexpr std::array<double, 5> places = {0, 0.01, 0.5, 2.0 / 3, 1};

bool quantiles_of_rows(const SelftestData& test) {
  const auto& [device, data, rows, number] = test;
  QuantileOptions options;
  options.method = static_cast<QuantileMethod>(number % (static_cast<unsigned>(QuantileMethod::nearest) + 1));
  options.rows = data.count % 20 == 0 ? number % 2 == 0 ? 1 : 20 : 1;
  const std::vector<Quantile> found = exact_quantiles(device, data, places, options);
  const std::uint64_t length = data.count / options.rows;
  std::vector<Quantile> expected;
  for (std::uint64_t row = 0; row < options.rows; ++row) {
    const auto some = reference_quantiles(part_of(data, row * length, length), places, options.method);
    expected.insert(expected.end(), some.begin(), some.end());
  }
  return found == expected;
}

bool quantiles_of_pieces(const SelftestData& test) {
  const ArrayView& data = test.data;
  QuantileFinder finder(test.device, data.dtype, places);
  const std::uint64_t half = data.count / 2;
  do {
    finder.add(part_of(data, 0, half));
    finder.add(part_of(data, half, data.count - half));
  } while (finder.next_pass());
  return finder.result() == reference_quantiles(data, places, QuantileMethod::linear);
}

bool element_at_place(const SelftestData& test) {
  const ArrayView& data = test.data;
  const std::uint64_t place = test.number * 7919 % data.count;
  return nth_element_bits(test.device, data, place) == plain_bits(data, reference_order(data, Order::ascending)[place]);
}

// The less, the equal, the greater, each as they came.
bool parted(const SelftestData& test) {
  const ArrayView& data = test.data;
  const std::uint64_t place = test.number * 104729 % data.count;
  const std::uint64_t pivot = reference_order(data, Order::ascending)[place];
  std::vector<std::byte> result(data.count * size_of(data.dtype));
  const PartitionResult found = partition(test.device, data, {data.dtype, result.data(), data.count}, place);
  std::vector<std::uint64_t> order;
  PartitionResult expected;
  const auto take = [&](const auto& belongs) {
    for (std::uint64_t i = 0; i < data.count; ++i) {
      if (belongs(i)) order.push_back(i);
    }
    return order.size();
  };
  expected.less = take([&](std::uint64_t i) { return precedes(data, i, data, pivot); });
  expected.equal = take([&](std::uint64_t i) { return !differ(data, i, data, pivot); }) - expected.less;
  take([&](std::uint64_t i) { return precedes(data, pivot, data, i); });
  return found == expected && are_elements(result.data(), data, order);
}

constexpr std::array<SelftestShape, 3> quantile_shapes{{{1, 1}, {1, 4100}, {1, 70000}}};
constexpr std::array<SelftestCheck, 4> quantile_checks{{{"quantiles", quantiles_of_rows},
                                                        {"quantiles of pieces", quantiles_of_pieces},
                                                        {"n-th element", element_at_place},
                                                        {"partition", parted}}};

}  // namespace

// Methods and places take turns too.
void selftest_quantile(const Device& device, SelftestTally& tally) {
  selftest_each(device, tally, quantile_shapes, quantile_checks, 3);
}

}  // namespace masu::cli

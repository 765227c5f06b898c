// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/reference_order.h"
#include "cli/selftest/selftest.h"

#include <fmt/format.h>
#include <masu/search.h>
#include <masu/unique.h>
#include <algorithm>

namespace masu::cli {
namespace {

constexpr std::array unique_distributions = {"uniform", "few", "runs", "constant", "sorted", "zipf"};
constexpr std::array<std::uint64_t, 3> unique_sizes = {0, 4099, 70001};

bool distinct_values(const Device& device, const ArrayView& data) {
  UniqueOptions options;
  options.indices = true;
  options.inverse = true;
  const UniqueArrays found = unique(device, data, options);
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

bool runs_of_equals(const Device& device, const ArrayView& data) {
  const RunArrays found = run_length(device, data);
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
bool places_in_order(const Device& device, const ArrayView& data) {
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
    searchsorted(device, table, data, MutableArrayView(found), options);
    if (found != reference_search(table, data, side == Side::right)) return false;
  }
  return true;
}

struct UniqueOperation {
  const char* name;
  bool (*run)(const Device& device, const ArrayView& data);
};
constexpr std::array<UniqueOperation, 3> unique_operations{
    {{"distinct values", distinct_values}, {"runs", runs_of_equals}, {"search", places_in_order}}};

}  // namespace

// Distributions take turns.
void selftest_unique(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype dtype : selftest_dtypes) {
    for (const std::uint64_t size : unique_sizes) {
      for (const UniqueOperation& operation : unique_operations) {
        const char* const distribution = unique_distributions[++number % unique_distributions.size()];
        const std::string name =
            fmt::format("{} of {} {} values, {}", operation.name, size, distribution, to_string(dtype));
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::vector<std::byte> bytes = selftest_special_data(dtype, distribution, size, number);
          return operation.run(device, {dtype, bytes.data(), size});
        });
      }
    }
  }
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/pieces.h"
#include "cli/selftest/reference_order.h"
#include "cli/selftest/selftest.h"

#include <fmt/format.h>
#include <masu/quantile.h>
#include <algorithm>

namespace masu::cli {
namespace {

constexpr std::array quantile_distributions = {"uniform", "few", "sorted", "constant", "reversed", "zipf"};
constexpr std::array<std::uint64_t, 3> quantile_sizes = {1, 4100, 70000};
constexpr std::array<double, 5> places = {0, 0.01, 0.5, 2.0 / 3, 1};

bool quantiles_of_rows(const Device& device, const ArrayView& data, std::uint64_t number) {
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

bool quantiles_of_pieces(const Device& device, const ArrayView& data, std::uint64_t) {
  QuantileFinder finder(device, data.dtype, places);
  const std::uint64_t half = data.count / 2;
  do {
    finder.add(part_of(data, 0, half));
    finder.add(part_of(data, half, data.count - half));
  } while (finder.next_pass());
  return finder.result() == reference_quantiles(data, places, QuantileMethod::linear);
}

bool element_at_place(const Device& device, const ArrayView& data, std::uint64_t number) {
  const std::uint64_t place = number * 7919 % data.count;
  return nth_element_bits(device, data, place) == plain_bits(data, reference_order(data, Order::ascending)[place]);
}

// The less, the equal, the greater, each as they came.
bool parted(const Device& device, const ArrayView& data, std::uint64_t number) {
  const std::uint64_t place = number * 104729 % data.count;
  const std::uint64_t pivot = reference_order(data, Order::ascending)[place];
  std::vector<std::byte> result(data.count * size_of(data.dtype));
  const PartitionResult found = partition(device, data, {data.dtype, result.data(), data.count}, place);
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

struct QuantileOperation {
  const char* name;
  bool (*run)(const Device& device, const ArrayView& data, std::uint64_t number);
};
constexpr std::array<QuantileOperation, 4> quantile_operations{{{"quantiles", quantiles_of_rows},
                                                                {"quantiles of pieces", quantiles_of_pieces},
                                                                {"n-th element", element_at_place},
                                                                {"partition", parted}}};

}  // namespace

// Distributions, methods and places take turns; every third case has NaNs and zeros of both signs.
void selftest_quantile(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype dtype : selftest_dtypes) {
    for (const std::uint64_t size : quantile_sizes) {
      for (const QuantileOperation& operation : quantile_operations) {
        ++number;
        const char* const distribution = quantile_distributions[number % quantile_distributions.size()];
        const std::string name = fmt::format("{} of {} {} values, {}, case {}", operation.name, size, distribution,
                                             to_string(dtype), number);
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const auto make = number % 3 == 0 ? selftest_special_data : selftest_data;
          const std::vector<std::byte> bytes = make(dtype, distribution, size, number);
          return operation.run(device, {dtype, bytes.data(), size}, number);
        });
      }
    }
  }
}

}  // namespace masu::cli

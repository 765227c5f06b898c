// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/pieces.h"
#include "cli/selftest/reference_order.h"
#include "cli/selftest/selftest.h"

#include <fmt/format.h>
#include <masu/topk.h>
#include <algorithm>

namespace masu::cli {
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
  for (const Dtype dtype : selftest_dtypes) {
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

}  // namespace masu::cli

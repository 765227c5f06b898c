// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest/reference_order.h"
#include "cli/selftest/selftest.h"

#include <fmt/format.h>
#include <masu/sort.h>
#include <cstring>
#include <numeric>

namespace masu::cli {
namespace {

constexpr std::array algorithms = {SortAlgorithm::automatic, SortAlgorithm::bitonic, SortAlgorithm::radix,
                                   SortAlgorithm::merge};
constexpr std::array sort_distributions = {"uniform", "constant", "sorted", "reversed", "few", "runs", "zipf"};
constexpr std::array<std::uint64_t, 5> sort_sizes = {0, 1, 1020, 4099, 70000};
constexpr std::uint64_t most_bitonic = 4099;  // more takes long on small devices

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
  constexpr std::array<unsigned, 6> f32 = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xffc0};
  constexpr std::array<unsigned, 6> f64 = {0x0000, 0x8000, 0x7ff0, 0xfff0, 0x7ff8, 0xfff8};
  const auto& special = dtype == Dtype::f16 ? f16 : dtype == Dtype::f32 ? f32 : f64;
  const std::size_t size = size_of(dtype);
  for (std::uint64_t i = seed % 3; i < count; i += 5 + i % 7) {
    const std::uint64_t kind = (i + seed) % special.size();
    const bool nan = kind >= 4;
    const std::uint64_t bits = (std::uint64_t{special[kind]} << (8 * (size - 2))) + (nan ? i % 3 : 0);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
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
  for (const Dtype dtype : selftest_dtypes) {
    for (const std::uint64_t size : sort_sizes) {
      for (const SortOperation& operation : sort_operations) {
        ++number;
        SortOptions options;
        // Where each turn needs programs of its own, these change with the dtype alone.
        const std::uint64_t turn = device.kind() == DeviceKind::cpu ? number : static_cast<std::uint64_t>(dtype);
        options.order = turn % 2 == 0 ? Order::ascending : Order::descending;
        options.algorithm = algorithms[size > most_bitonic ? 0 : turn / 2 % algorithms.size()];
        const std::uint64_t rows = number % 9 == 4 ? 0 : size % 10 == 0 && size > 0 && number % 3 == 0 ? 10 : 1;
        const char* const distribution = sort_distributions[number % sort_distributions.size()];
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

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// The kernels of top-k and of the room quantile, on little data, for Oclgrind: `selection
// rows|filter|exact|places|passes|bounds|sorted|partition|parted`.
#include "expect.h"

#include "topk/topk_plan.h"
#include "topk/topk_test_data.h"

#include <masu/masu.h>
#include <masu/quantile.h>
#include <masu/topk.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

using namespace masu;

template <class T>
bool right(const Device& device, const std::vector<T>& data, std::uint64_t k, const TopkOptions& options) {
  const auto expected = test::expected_topk(data, k, options);
  const TopkResult found = topk(device.upload(data), k, options);
  for (std::uint64_t row = 0; row < expected.size(); ++row) {
    if (!std::ranges::equal(found.indices(row), expected[row].indices)) return false;
  }
  return true;
}

// Rows that are as long as the data, so that what is read behind them is seen, but have few elements or all.
template <class T>
bool right_of_lengths(const Device& device, const std::vector<T>& data, std::uint64_t k,
                      const std::vector<std::int32_t>& lengths) {
  const Buffer<std::int32_t> there = device.upload(lengths);
  const std::uint64_t rows = lengths.size();
  const TopkResult found = topk(device.upload(data), k, {.rows = rows, .lengths = &there, .lengths_dtype = Dtype::i32});
  const auto count = static_cast<std::ptrdiff_t>(data.size() / rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto first = data.begin() + static_cast<std::ptrdiff_t>(row) * count;
    const std::vector<T> part(first, first + std::clamp<std::ptrdiff_t>(lengths[row], 0, count));
    if (!std::ranges::equal(found.indices(row), test::expected_topk(part, k, {}).front().indices)) return false;
  }
  return true;
}

bool rows(const Device& device) {
  return right(device, test::mixed_values<float>(900, 1), 20, {.rows = 3}) &&
         right(device, test::mixed_values<std::int64_t>(500, 2), 60, {.largest = false}) &&
         right(device, test::mixed_values<float>(300, 3), 300, {.nan = NanPolicy::skip}) &&
         right_of_lengths(device, test::mixed_values<float>(900, 1), 20, {5, -1, 301});
}

bool filter(const Device& device) {
  return right(device, test::mixed_values<float>(33001, 4), 50, {}) &&
         right(device, std::vector<std::int64_t>(33001, 7), 9, {.largest = false}) &&
         right_of_lengths(device, test::mixed_values<float>(33001, 4), 50, {700});
}

// All that the sample sees is small: too many are above the threshold.
bool exact(const Device& device) {
  std::vector<std::uint8_t> data(topk_plan::tuned.least_filtered + 1, 1);
  for (std::size_t i = 0; i < data.size(); i += 3) data[i] = static_cast<std::uint8_t>(i % 251);
  const double half = 0.5;
  std::vector<std::uint8_t> sorted = data;
  std::sort(sorted.begin(), sorted.end());
  return right(device, data, 400, {}) &&
         quantiles(device.upload(data), {&half, 1}, {.method = QuantileMethod::lower}).front() ==
             sorted[sorted.size() / 2];
}

// The elements at places, the median and quantiles, which stay on the device.
bool places_are_right(const Device& device, const std::vector<float>& data, std::uint64_t rows,
                      const std::vector<std::uint64_t>& places) {
  const Buffer<float> there = device.upload(data);
  Buffer<float> found(device, rows * places.size());
  Buffer<float> middles(device, rows);
  Stream stream(device);
  elements_at(stream, there, Dtype::f32, places, found, {.rows = rows}).get();
  median(stream, there, Dtype::f32, middles, {.rows = rows}).get();
  const double q[] = {0.1, 0.9};
  const auto points = quantile_points(QuantileMethod::linear, data.size() / rows, q);
  Buffer<float> between(device, 2 * rows);
  quantiles(stream, there, Dtype::f32, points, between, Dtype::f32, {.rows = rows}).get();
  std::vector<float> interpolated(2 * rows);
  std::vector<float> expected(found.size());
  std::vector<float> medians(rows);
  const Device cpu = Device::open("cpu");
  Stream here(cpu);
  const Buffer<const float> view = Buffer<const float>::wrap_host(cpu, data);
  Buffer<float> to = Buffer<float>::wrap_host(cpu, expected);
  Buffer<float> to_medians = Buffer<float>::wrap_host(cpu, medians);
  elements_at(here, view, Dtype::f32, places, to, {.rows = rows}).get();
  median(here, view, Dtype::f32, to_medians, {.rows = rows}).get();
  Buffer<float> to_interpolated = Buffer<float>::wrap_host(cpu, interpolated);
  quantiles(here, view, Dtype::f32, points, to_interpolated, Dtype::f32, {.rows = rows}).get();
  return std::memcmp(found.read().data(), expected.data(), expected.size() * sizeof(float)) == 0 &&
         std::memcmp(middles.read().data(), medians.data(), medians.size() * sizeof(float)) == 0 &&
         std::memcmp(between.read().data(), interpolated.data(), interpolated.size() * sizeof(float)) == 0;
}

// Of numbers, or of zeros of both signs.
std::vector<float> numbers(std::size_t count, bool zeros) {
  std::vector<float> data(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i * 7919 % 10007);
    data[i] = !zeros ? number / 16 : i % 3 == 0 ? number : i % 3 == 1 ? -0.0F : 0.0F;
  }
  return data;
}

bool places(const Device& device) {
  return places_are_right(device, test::mixed_values<float>(900, 6), 3, {0, 150, 299}) &&
         places_are_right(device, numbers(700, true), 1, {20, 21});
}
bool passes(const Device& device) {
  return places_are_right(device, numbers(32771, false), 1, {5, 20000}) &&
         places_are_right(device, numbers(32771, true), 1, {9000});
}
bool bounds(const Device& device) {
  return places_are_right(device, numbers((1 << 18) + 1, false), 1, {1000});
}
bool sorted(const Device& device) {
  return places_are_right(device, test::mixed_values<float>(900, 7), 1, {0, 9, 99, 100, 101, 300, 500, 700, 800, 899});
}

// Elements and their indices, parted around the element at place k.
bool parts_are_right(const Device& device, const std::vector<float>& data, std::uint64_t k) {
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  const Buffer<float> there = device.upload(data);
  const float pivot = nth_element(there, k);
  const auto before = [&](std::uint32_t i) { return test::comes_before(data[i], pivot); };
  const auto not_behind = [&](std::uint32_t i) { return !test::comes_before(pivot, data[i]); };
  const auto less = std::stable_partition(order.begin(), order.end(), before);
  std::stable_partition(less, order.end(), not_behind);
  std::vector<float> expected(data.size());
  std::transform(order.begin(), order.end(), expected.begin(), [&](std::uint32_t i) { return data[i]; });
  Buffer<float> parted = device.upload(data);
  Buffer<std::uint32_t> indices(device, data.size());
  Buffer<std::uint64_t> sizes(device, 2);
  Stream stream(device);
  const PartitionResult found = partition(parted, k);
  argpartition(stream, there, Dtype::f32, {indices, sizes}, Dtype::u32, k).get();
  return found.less == static_cast<std::uint64_t>(less - order.begin()) && found.less == sizes.read()[0] &&
         indices.read() == order &&
         std::memcmp(parted.read().data(), expected.data(), data.size() * sizeof(float)) == 0;
}
bool parts(const Device& device) {
  return parts_are_right(device, test::mixed_values<float>(1100, 5), 500) &&
         parts_are_right(device, numbers(33001, false), 12000);
}
bool parts_in_bounds(const Device& device) {
  return parts_are_right(device, numbers((1 << 18) + 1, false), 100000);
}

}  // namespace

int main(int count, char** arguments) {
  constexpr masu::oclgrind::Case cases[] = {{"rows", rows},     {"filter", filter},   {"exact", exact},
                                            {"places", places}, {"passes", passes},   {"bounds", bounds},
                                            {"sorted", sorted}, {"partition", parts}, {"parted", parts_in_bounds}};
  return masu::oclgrind::run_one(count, arguments, cases);
}

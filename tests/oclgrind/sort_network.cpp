// SPDX-License-Identifier: Apache-2.0
// Sorting rows in registers and merging on the device opencl:0, small, against std::stable_sort:
// what check.sh runs under Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_sort_network keys|records|indices|segments|merge|merge_runs
#include "sort/device/sort_device.h"
#include "sort/device/sort_merge.h"
#include "sort/device/sort_rows.h"
#include "sort_data.h"

#include <masu/sort.h>

#include <algorithm>
#include <array>
#include <memory>

namespace masu::oclgrind {
namespace {

enum class With { nothing, records, indices };

// Sorts pieces by `sort`, and compares keys and what goes with them.
template <class T, class Sort>
void check(const Device& device, std::size_t pieces, std::size_t length, With with, const Sort& sort) {
  const std::vector<T> keys = make_keys<T>(pieces * length);
  const std::vector<std::uint32_t> order = order_of(keys, length, Order::ascending);
  std::vector<std::uint32_t> numbers(keys.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  const Buffer<T> data = device.upload(keys);
  const Buffer<std::uint32_t> moved = device.upload(numbers);
  sort_kernels::Arrays arrays;
  arrays.dtype = dtype_of<T>;
  arrays.source = &data;
  if (with != With::indices) arrays.target = &data;
  if (with == With::records) arrays.payload = {Payload::Kind::records, &moved, 4};
  if (with == With::indices) arrays.payload = {Payload::Kind::indices, &moved, 4};
  Stream stream(device);
  DeviceWork work;
  sort(stream, arrays, work);
  stream.finish();
  const std::vector<T> got = data.read();
  const std::vector<std::uint32_t> got_moved = moved.read();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t from = i / length * length + order[i];
    expect(same_bits(got[i], keys[with == With::indices ? i : from]), "keys");
    if (with == With::records) expect(got_moved[i] == from, "records");
    if (with == With::indices) expect(got_moved[i] == order[i], "indices");
  }
}

// Merges sorted runs with values of 12 bytes, from the second element of each buffer on.
template <class T>
void check_runs(const Device& device, const std::vector<std::uint64_t>& runs) {
  std::vector<std::uint64_t> pairs;
  for (std::size_t r = 0; r + 1 < runs.size(); ++r) pairs.insert(pairs.end(), {runs[r], runs[r + 1]});
  using Value = std::array<std::uint32_t, 3>;
  std::vector<T> keys = make_keys<T>(runs.back());
  std::vector<Value> values(keys.size());
  for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
    std::stable_sort(keys.begin() + static_cast<std::ptrdiff_t>(runs[r]),
                     keys.begin() + static_cast<std::ptrdiff_t>(runs[r + 1]),
                     [](T a, T b) { return sort_key(a, Order::descending) < sort_key(b, Order::descending); });
  }
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = {i, ~i, i * 3};
  Buffer<T> all(device, keys.size() + 2);
  Buffer<T> all_merged(device, keys.size() + 2);
  Buffer<Value> all_values(device, keys.size() + 2);
  Buffer<Value> all_moved(device, keys.size() + 2);
  Buffer<T> data = all.slice(1, keys.size());
  Buffer<T> merged = all_merged.slice(1, keys.size());
  Buffer<Value> moving = all_values.slice(1, keys.size());
  Buffer<Value> moved = all_moved.slice(1, keys.size());
  data.write(keys);
  moving.write(values);
  merge_sorted_by_key(data, moving, pairs, merged, moved, {.order = Order::descending});
  const std::vector<std::uint32_t> order = order_of(keys, keys.size(), Order::descending);
  const std::vector<T> got = merged.read();
  const std::vector<Value> got_values = moved.read();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    expect(same_bits(got[i], keys[order[i]]), "keys");
    expect(got_values[i] == values[order[i]], "values");
  }
}

void run_case(const Device& device, const std::string& name) {
  using sort_kernels::Arrays;
  const std::size_t most = sort_rows::most_local_keys(device.info(), Dtype::f32, true);
  const auto rows = [&](auto tag, std::size_t count, std::size_t length, With with) {
    check<decltype(tag)>(device, count, length, with, [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
      sort_rows::sort(stream, arrays, {count, length, length}, nullptr, work);
    });
  };
  if (name == "keys") {
    rows(float{}, 70, 3, With::nothing);
    rows(float{}, 3, 130, With::nothing);
    rows(double{}, 5, 50, With::nothing);
    rows(Half{}, 5, 50, With::nothing);
    rows(std::int8_t{}, 5, 50, With::nothing);
  } else if (name == "records") {
    rows(float{}, 5, 50, With::records);
    rows(double{}, 5, 50, With::records);
    rows(std::uint8_t{}, 5, 50, With::records);
  } else if (name == "indices") {
    rows(float{}, 5, 50, With::indices);
    rows(std::int64_t{}, 70, 3, With::indices);
  } else if (name == "segments") {
    const std::vector<std::uint64_t> offsets{0, 20, 40, 60};
    check<float>(device, 3, 20, With::records, [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
      const bool indexed = !arrays.alone();
      const auto ready = std::make_shared<const sort_rows::Segments>(device, arrays.dtype, indexed, offsets);
      work.kept.push_back(ready);
      ready->sort(stream, arrays, nullptr, work);
    });
  } else if (name == "merge") {
    check<float>(device, 1, most + 37, With::records, [&](Stream& stream, const Arrays& arrays, DeviceWork& work) {
      sort_merge::sort(stream, arrays, 1, most + 37, nullptr, work);
    });
  } else if (name == "merge_runs") {
    check_runs<float>(device, {0, 700, 700, most + 100, most + 500});
    check_runs<std::uint8_t>(device, {0, 300, 1000});
  } else {
    throw std::runtime_error("no such kernel: " + name);
  }
}

}  // namespace
}  // namespace masu::oclgrind

int main(int count, char** arguments) {
  return masu::oclgrind::run(count, arguments, masu::oclgrind::run_case);
}

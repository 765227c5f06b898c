// SPDX-License-Identifier: Apache-2.0
// Sorting rows in registers, the bitonic network and merging on the device opencl:0, small, against std::stable_sort:
// what check.sh runs under Oclgrind. Everything is launched from this one thread.
//
//   oclgrind_sort_network keys|records|indices|segments|bitonic|merge
#include "sort/bitonic_device.h"
#include "sort/sort_key.h"
#include "sort/sort_merge.h"
#include "sort/sort_rows.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace masu {
namespace {

// Keys of few values; floats with zeros of both signs and NaNs of several kinds.
template <class T>
std::vector<T> make_keys(std::size_t count) {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  constexpr Bits infinity = static_cast<Bits>(infinity_bits<T>);
  constexpr Bits below = static_cast<Bits>(infinity >> 1);  // exponents of numbers
  std::vector<T> keys(count);
  std::uint32_t state = 1;
  for (T& key : keys) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t kind = state >> 28U;
    const Bits number = static_cast<Bits>(static_cast<Bits>(state >> 24U) << (8 * sizeof(T) - 8));
    key = std::bit_cast<T>(kind == 0   ? sign
                           : kind == 1 ? Bits{0}
                           : kind == 2 ? static_cast<Bits>(infinity | (infinity >> 1))
                           : kind == 3 ? static_cast<Bits>(infinity | sign | 1U)
                                       : static_cast<Bits>(infinity == 0 ? number : number & (below | sign)));
  }
  return keys;
}

// The stable order of each piece of `length` keys, counted from its begin.
template <class T>
std::vector<std::uint32_t> order_of(const std::vector<T>& keys, std::size_t length) {
  std::vector<std::uint32_t> order(keys.size());
  for (std::size_t first = 0; first < keys.size(); first += length) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(length, keys.size() - first));
    std::iota(begin, end, 0U);
    std::stable_sort(begin, end, [&](std::uint32_t a, std::uint32_t b) {
      return sort_key(keys[first + a]) < sort_key(keys[first + b]);
    });
  }
  return order;
}

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("wrong: ") + what);
}

enum class With { nothing, records, indices };

// Sorts pieces by `sort`, and compares keys and what goes with them.
template <class T, class Sort>
void check(const Device& device, std::size_t pieces, std::size_t length, With with, const Sort& sort) {
  const bool records = with == With::records;
  const bool indices = with == With::indices;
  const std::vector<T> keys = make_keys<T>(pieces * length);
  const std::vector<std::uint32_t> order = order_of(keys, length);
  std::vector<std::uint32_t> numbers(keys.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  const Buffer<T> data = device.upload(keys);
  const Buffer<std::uint32_t> moved = device.upload(numbers);
  sort_kernels::Arrays arrays;
  arrays.dtype = dtype_of<T>;
  arrays.source = arrays.target = &data;
  if (records) {
    arrays.records = arrays.moved_records = &moved;
    arrays.record_bytes = 4;
  }
  if (indices) {
    arrays.target = nullptr;
    arrays.indices = &moved;
    arrays.index_bytes = 4;
  }
  Stream stream(device);
  DeviceWork work;
  sort(stream, arrays, work);
  stream.finish();
  const std::vector<T> got = data.read();
  const std::vector<std::uint32_t> got_moved = moved.read();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t from = i / length * length + order[i];
    using Bits = UnsignedOf<sizeof(T)>;
    expect(std::bit_cast<Bits>(got[i]) == std::bit_cast<Bits>(keys[indices ? i : from]), "keys");
    if (records) expect(got_moved[i] == from, "records");
    if (indices) expect(got_moved[i] == order[i], "indices");
  }
}

void run(const std::string& name) {
  const Device device = Device::open("opencl");
  std::printf("device: %s\n", device.info().name.c_str());
  const std::size_t most = sort_rows::most_local_keys(device.info(), Dtype::f32, true);
  const auto rows = [&](auto tag, std::size_t count, std::size_t length, With with) {
    check<decltype(tag)>(device, count, length, with,
                         [&](Stream& stream, const sort_kernels::Arrays& arrays, DeviceWork& work) {
                           sort_rows::sort(stream, arrays, {count, length, length}, nullptr, work);
                         });
  };
  if (name == "keys") {
    rows(0.0F, 70, 3, With::nothing);
    rows(0.0F, 3, 130, With::nothing);
    rows(0.0, 5, 50, With::nothing);
    rows(Half{}, 5, 50, With::nothing);
    rows(std::int8_t{}, 5, 50, With::nothing);
  } else if (name == "records") {
    rows(0.0F, 5, 50, With::records);
    rows(0.0, 5, 50, With::records);
    rows(std::uint8_t{}, 5, 50, With::records);
  } else if (name == "indices") {
    rows(0.0F, 5, 50, With::indices);
    rows(std::int64_t{}, 70, 3, With::indices);
  } else if (name == "segments") {
    const std::vector<std::uint64_t> offsets{0, 20, 40, 60};
    check<float>(device, 3, 20, With::records,
                 [&](Stream& stream, const sort_kernels::Arrays& arrays, DeviceWork& work) {
                   sort_rows::sort_segments(stream, arrays, offsets, work);
                 });
  } else if (name == "bitonic") {
    check<float>(device, 1, most + 37, With::records,
                 [&](Stream& stream, const sort_kernels::Arrays& arrays, DeviceWork& work) {
                   bitonic::sort(stream, arrays, 1, most + 37, nullptr, work);
                 });
  } else if (name == "merge") {
    check<float>(device, 1, most + 37, With::records,
                 [&](Stream& stream, const sort_kernels::Arrays& arrays, DeviceWork& work) {
                   sort_merge::sort(stream, arrays, 1, most + 37, nullptr, work);
                 });
  } else {
    throw std::runtime_error("no such kernel: " + name);
  }
}

}  // namespace
}  // namespace masu

int main(int count, char** arguments) try {
  masu::run(count == 2 ? arguments[1] : "keys");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

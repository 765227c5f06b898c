// SPDX-License-Identifier: Apache-2.0
#include "cub_sort.h"

#include "cub_device.cuh"

#include <cuda_fp16.h>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <numeric>
#include <type_traits>

namespace masu::bench {
namespace {

struct Less {
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

using Value = std::uint32_t;

// What lies on the device; the values only of pairs.
template <class T>
struct Arrays {
  const T* keys_in;
  T* keys_out;
  const Value* values_in;
  Value* values_out;
};

// call(arrays, scratch, bytes) is one function of CUB; it tells the bytes of scratch where that is null.
template <class T, class Call>
CubSorted run(const CubSortTask& task, bool pairs, const Call& call) {
  const std::size_t key_bytes = task.count * sizeof(T);
  const std::size_t value_bytes = pairs ? task.count * sizeof(Value) : 0;
  DeviceMemory keys_in(task.keys, key_bytes);
  DeviceMemory keys_out(key_bytes);
  std::vector<Value> places(pairs ? task.count : 0);
  std::iota(places.begin(), places.end(), Value{0});
  DeviceMemory values_in(places.data(), value_bytes);
  DeviceMemory values_out(value_bytes);
  const Arrays<T> arrays{static_cast<const T*>(keys_in.address), static_cast<T*>(keys_out.address),
                         static_cast<const Value*>(values_in.address), static_cast<Value*>(values_out.address)};
  std::size_t bytes = 0;
  check(call(arrays, nullptr, bytes));
  DeviceMemory scratch(bytes);
  const auto sort = [&] { check(call(arrays, scratch.address, bytes)); };
  warm_up(sort);
  CubSorted sorted;
  sorted.scratch = bytes;
  // Alone on the stream, as masu's sorts are.
  sorted.device_seconds = device_seconds(
      task.repeats, [] {}, sort);
  sorted.call_seconds = host_seconds(task.repeats, sort);
  if (task.result) {
    sorted.keys.resize(key_bytes);
    keys_out.read(sorted.keys.data(), key_bytes);
    sorted.values.resize(value_bytes / sizeof(Value));
    values_out.read(sorted.values.data(), value_bytes);
  }
  return sorted;
}

long long size_of_all(const CubSortTask& task) {
  return static_cast<long long>(task.count);
}

template <class T>
CubSorted radix_keys(const CubSortTask& task) {
  return run<T>(task, false, [&](const Arrays<T>& arrays, void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, arrays.keys_in, arrays.keys_out, size_of_all(task));
  });
}

template <class T>
CubSorted radix_pairs(const CubSortTask& task) {
  return run<T>(task, true, [&](const Arrays<T>& arrays, void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, arrays.keys_in, arrays.keys_out, arrays.values_in,
                                           arrays.values_out, size_of_all(task));
  });
}

template <class T>
CubSorted merge_keys(const CubSortTask& task) {
  return run<T>(task, false, [&](const Arrays<T>& arrays, void* scratch, std::size_t& bytes) {
    return cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, arrays.keys_in, arrays.keys_out, size_of_all(task),
                                              Less{});
  });
}

CubSorted merge_pairs(const CubSortTask& task) {
  using T = std::uint32_t;
  return run<T>(task, true, [&](const Arrays<T>& arrays, void* scratch, std::size_t& bytes) {
    return cub::DeviceMergeSort::SortPairsCopy(scratch, bytes, arrays.keys_in, arrays.values_in, arrays.keys_out,
                                               arrays.values_out, size_of_all(task), Less{});
  });
}

CubSorted segmented(const CubSortTask& task) {
  using T = std::uint32_t;
  DeviceMemory offsets(task.offsets.data(), task.offsets.size() * sizeof(std::uint64_t));
  const auto* begins = static_cast<const unsigned long long*>(offsets.address);
  const auto segments = static_cast<long long>(task.offsets.size() - 1);
  return run<T>(task, false, [&](const Arrays<T>& arrays, void* scratch, std::size_t& bytes) {
    return cub::DeviceSegmentedSort::SortKeys(scratch, bytes, arrays.keys_in, arrays.keys_out, size_of_all(task),
                                              segments, begins, begins + 1);
  });
}

}  // namespace

CubSorted cub_sort(const CubSortTask& task) {
  using Type = CubType;
  if (task.sort == CubSort::segmented && task.type == Type::u32) return segmented(task);
  if (task.sort == CubSort::merge_pairs && task.type == Type::u32) return merge_pairs(task);
  if (task.sort == CubSort::merge_keys) {
    if (task.type == Type::u32) return merge_keys<std::uint32_t>(task);
    if (task.type == Type::u64) return merge_keys<std::uint64_t>(task);
    if (task.type == Type::f32) return merge_keys<float>(task);
  }
  if (task.sort == CubSort::radix_pairs) {
    if (task.type == Type::u32) return radix_pairs<std::uint32_t>(task);
    if (task.type == Type::u64) return radix_pairs<std::uint64_t>(task);
    if (task.type == Type::f32) return radix_pairs<float>(task);
  }
  if (task.sort == CubSort::radix_keys) {
    if (task.type == Type::u8) return radix_keys<std::uint8_t>(task);
    if (task.type == Type::u16) return radix_keys<std::uint16_t>(task);
    if (task.type == Type::u32) return radix_keys<std::uint32_t>(task);
    if (task.type == Type::i32) return radix_keys<std::int32_t>(task);
    if (task.type == Type::u64) return radix_keys<std::uint64_t>(task);
    if (task.type == Type::i64) return radix_keys<std::int64_t>(task);
    if (task.type == Type::f16) return radix_keys<__half>(task);
    if (task.type == Type::f32) return radix_keys<float>(task);
    return radix_keys<double>(task);
  }
  throw std::runtime_error("peer_cub: this sort is not compiled for this type");
}

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
#include "cub_histogram.h"

#include "cub_device.cuh"

#include <cub/device/device_histogram.cuh>
#include <cub/version.cuh>

namespace masu::bench {
namespace {

// call(samples, counts, scratch, bytes) is one function of CUB; it tells the bytes of scratch where that is null.
template <class T, class Call>
CubResult run(const CubTask& task, const Call& call) {
  const std::size_t slots = std::size_t{task.bins} * task.channels;
  DeviceMemory input(task.data, task.count * sizeof(T));
  DeviceMemory table(slots * sizeof(unsigned));
  const T* samples = static_cast<const T*>(input.address);
  unsigned* counts = static_cast<unsigned*>(table.address);
  std::size_t bytes = 0;
  check(call(samples, counts, nullptr, bytes));
  DeviceMemory scratch(bytes);
  const auto count = [&] { check(call(samples, counts, scratch.address, bytes)); };
  warm_up(count);
  CubResult result;
  result.scratch = bytes;
  result.seconds =
      device_seconds(task.repeats, count, count);  // the call in front hides how a launch reaches the device
  std::vector<unsigned> host(slots);
  table.read(host.data(), slots * sizeof(unsigned));
  result.counts.assign(host.begin(), host.end());
  return result;
}

template <class T, class Level>
CubResult run_even(const CubTask& task) {
  return run<T>(task, [&](const T* samples, unsigned* counts, void* scratch, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(scratch, bytes, samples, counts, static_cast<int>(task.bins + 1),
                                               Level{0}, static_cast<Level>(task.hi),
                                               static_cast<long long>(task.count));
  });
}

CubResult run_range(const CubTask& task) {
  DeviceMemory levels(task.edges.data(), task.edges.size() * sizeof(float));
  return run<float>(task, [&](const float* samples, unsigned* counts, void* scratch, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramRange(scratch, bytes, samples, counts, static_cast<int>(task.edges.size()),
                                                static_cast<const float*>(levels.address),
                                                static_cast<long long>(task.count));
  });
}

template <int Channels>
CubResult run_channels(const CubTask& task) {
  using Byte = unsigned char;
  ::cuda::std::array<int, Channels> levels;
  ::cuda::std::array<int, Channels> lower;
  ::cuda::std::array<int, Channels> upper;
  levels.fill(static_cast<int>(task.bins + 1));
  lower.fill(0);
  upper.fill(static_cast<int>(task.hi));
  return run<Byte>(task, [&](const Byte* samples, unsigned* counts, void* scratch, std::size_t& bytes) {
    ::cuda::std::array<unsigned*, Channels> tables;
    for (int channel = 0; channel < Channels; ++channel) tables[channel] = counts + channel * task.bins;
    return cub::DeviceHistogram::MultiHistogramEven<Channels, Channels>(
        scratch, bytes, samples, tables, levels, lower, upper, static_cast<long long>(task.count / Channels));
  });
}

}  // namespace

std::string cub_version() {
  return "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

bool cub_keeps_to_its_tables() {
  return CUB_MAJOR_VERSION > 3 || (CUB_MAJOR_VERSION == 3 && CUB_MINOR_VERSION >= 6);
}

CubResult cub_histogram(const CubTask& task) {
  if (!task.edges.empty()) return run_range(task);
  if (task.channels == 3) return run_channels<3>(task);
  if (task.channels == 4) return run_channels<4>(task);
  if (task.type == CubType::u8) return run_even<unsigned char, int>(task);
  if (task.type == CubType::u16) return run_even<unsigned short, int>(task);
  if (task.type == CubType::i32) return run_even<int, int>(task);
  if (task.type == CubType::f32) return run_even<float, float>(task);
  return run_even<double, double>(task);
}

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
#include "cub_histogram.h"

#include <cub/device/device_histogram.cuh>
#include <cub/version.cuh>

#include <chrono>
#include <stdexcept>

namespace masu::bench {
namespace {

constexpr unsigned warm_ups = 10;
constexpr unsigned least_repeats = 3;
constexpr double most_seconds = 2;  // of warming up, and of the repeats

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // an allocation that failed is no matter of the next call
  throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

struct DeviceMemory {
  explicit DeviceMemory(std::size_t bytes) { check(cudaMalloc(&address, bytes)); }
  ~DeviceMemory() { cudaFree(address); }
  DeviceMemory(const DeviceMemory&) = delete;
  void* address = nullptr;
};

struct Timer {
  Timer() {
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
  }
  ~Timer() {
    cudaEventDestroy(start);
    cudaEventDestroy(end);
  }
  Timer(const Timer&) = delete;
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
};

// call(samples, counts, scratch, bytes) is one function of CUB; it tells the bytes of scratch where that is null.
template <class T, class Call>
CubResult run(const CubTask& task, const Call& call) {
  const std::size_t slots = std::size_t{task.bins} * task.channels;
  DeviceMemory input(task.count * sizeof(T));
  DeviceMemory table(slots * sizeof(unsigned));
  check(cudaMemcpy(input.address, task.data, task.count * sizeof(T), cudaMemcpyHostToDevice));
  const T* samples = static_cast<const T*>(input.address);
  unsigned* counts = static_cast<unsigned*>(table.address);
  std::size_t bytes = 0;
  check(call(samples, counts, nullptr, bytes));
  DeviceMemory scratch(bytes);
  const auto count = [&] { check(call(samples, counts, scratch.address, bytes)); };
  auto begin = Clock::now();
  for (unsigned i = 0; i < warm_ups && seconds_since(begin) < most_seconds; ++i) {
    count();
    check(cudaDeviceSynchronize());
  }

  CubResult result;
  result.scratch = bytes;
  Timer timer;
  begin = Clock::now();
  for (unsigned i = 0; i < task.repeats && (i < least_repeats || seconds_since(begin) < most_seconds); ++i) {
    count();  // the call in front hides how long a launch takes to reach the device
    check(cudaEventRecord(timer.start));
    count();
    check(cudaEventRecord(timer.end));
    check(cudaEventSynchronize(timer.end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, timer.start, timer.end));
    result.seconds.push_back(milliseconds / 1e3);
  }
  std::vector<unsigned> host(slots);
  check(cudaMemcpy(host.data(), counts, slots * sizeof(unsigned), cudaMemcpyDeviceToHost));
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
  DeviceMemory levels(task.edges.size() * sizeof(float));
  check(cudaMemcpy(levels.address, task.edges.data(), task.edges.size() * sizeof(float), cudaMemcpyHostToDevice));
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

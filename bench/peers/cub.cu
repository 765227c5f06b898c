// SPDX-License-Identifier: Apache-2.0
#include "cub_histogram.h"

#include <cub/device/device_histogram.cuh>
#include <cub/version.cuh>

#include <stdexcept>

namespace masu::bench {
namespace {

constexpr unsigned warm_ups = 10;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
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

template <class T, class Level>
CubResult run(const void* data, std::uint64_t count, unsigned bins, unsigned repeats, Level upper) {
  DeviceMemory input(count * sizeof(T));
  DeviceMemory table(bins * sizeof(unsigned));
  check(cudaMemcpy(input.address, data, count * sizeof(T), cudaMemcpyHostToDevice));
  const T* samples = static_cast<const T*>(input.address);
  unsigned* counts = static_cast<unsigned*>(table.address);
  const auto call = [&](void* scratch, std::size_t& bytes) {
    check(cub::DeviceHistogram::HistogramEven(scratch, bytes, samples, counts, static_cast<int>(bins + 1), Level{0},
                                              upper, static_cast<long long>(count)));
  };
  std::size_t bytes = 0;
  call(nullptr, bytes);
  DeviceMemory scratch(bytes);
  for (unsigned i = 0; i < warm_ups; ++i) call(scratch.address, bytes);

  CubResult result;
  Timer timer;
  for (unsigned i = 0; i < repeats; ++i) {
    // The call in front hides how long a launch takes to reach the device.
    call(scratch.address, bytes);
    check(cudaEventRecord(timer.start));
    call(scratch.address, bytes);
    check(cudaEventRecord(timer.end));
    check(cudaEventSynchronize(timer.end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, timer.start, timer.end));
    result.seconds.push_back(milliseconds / 1e3);
  }
  std::vector<unsigned> host(bins);
  check(cudaMemcpy(host.data(), counts, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
  result.counts.assign(host.begin(), host.end());
  return result;
}

}  // namespace

std::string cub_version() {
  return "CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

CubResult cub_histogram(CubType type, const void* data, std::uint64_t count, unsigned bins, unsigned repeats) {
  if (type == CubType::u8) return run<unsigned char>(data, count, bins, repeats, 256);
  if (type == CubType::f32) return run<float>(data, count, bins, repeats, 1.0F);
  return run<double>(data, count, bins, repeats, 1.0);
}

}  // namespace masu::bench

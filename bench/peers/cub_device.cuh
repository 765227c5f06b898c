// SPDX-License-Identifier: Apache-2.0
// Memory, errors and times of CUDA, for the functions over CUB.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace masu::bench {

constexpr unsigned warm_ups = 10;
constexpr unsigned least_repeats = 3;
constexpr double most_seconds = 2;  // of the repeats; warming up takes a tenth of it

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // an allocation that failed is no matter of the next call
  throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

struct DeviceMemory {
  explicit DeviceMemory(std::size_t bytes) { check(cudaMalloc(&address, bytes)); }
  DeviceMemory(const void* host, std::size_t bytes) : DeviceMemory(bytes) {
    check(cudaMemcpy(address, host, bytes, cudaMemcpyHostToDevice));
  }
  ~DeviceMemory() { cudaFree(address); }
  DeviceMemory(const DeviceMemory&) = delete;
  void read(void* host, std::size_t bytes) const { check(cudaMemcpy(host, address, bytes, cudaMemcpyDeviceToHost)); }
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

template <class Work>
void warm_up(const Work& work) {
  const auto begin = Clock::now();
  for (unsigned i = 0; i < warm_ups && (i == 0 || seconds_since(begin) < most_seconds / 10); ++i) {
    work();
    check(cudaDeviceSynchronize());
  }
}

// The device's seconds of `work`, several times; `before` is queued in front and not timed.
template <class Before, class Work>
std::vector<double> device_seconds(unsigned repeats, const Before& before, const Work& work) {
  std::vector<double> seconds;
  Timer timer;
  const auto begin = Clock::now();
  for (unsigned i = 0; i < repeats && (i < least_repeats || seconds_since(begin) < most_seconds); ++i) {
    before();
    check(cudaEventRecord(timer.start));
    work();
    check(cudaEventRecord(timer.end));
    check(cudaEventSynchronize(timer.end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, timer.start, timer.end));
    seconds.push_back(milliseconds / 1e3);
  }
  return seconds;
}

// The host's seconds of `work` until its result is there.
template <class Work>
std::vector<double> host_seconds(unsigned repeats, const Work& work) {
  std::vector<double> seconds;
  const auto begin = Clock::now();
  for (unsigned i = 0; i < repeats && (i < least_repeats || seconds_since(begin) < most_seconds); ++i) {
    const auto start = Clock::now();
    work();
    check(cudaStreamSynchronize(nullptr));
    seconds.push_back(seconds_since(start));
  }
  return seconds;
}

}  // namespace masu::bench

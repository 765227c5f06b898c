// SPDX-License-Identifier: Apache-2.0
// Sums, extremes and scans by CUB, dot products by cuBLAS. Plain C++, so that only cub_reduce.cu meets nvcc.
#pragma once

#include "cub_types.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace masu::bench {

enum class CubReduction {
  sum,     // DeviceReduce::Sum, in the type of the data
  min,     // DeviceReduce::Min
  max,     // DeviceReduce::Max
  argmin,  // DeviceReduce::ArgMin
  scan,    // DeviceScan::InclusiveSum, in the type of the data
  dot,     // cublasSdot, cublasDdot
};

struct CubReduceTask {
  CubReduction what;
  CubType type;
  const void* x;
  const void* y;  // of a dot product
  std::uint64_t count;
  unsigned repeats;
};

struct CubReduced {
  std::vector<double> device_seconds;
  std::vector<double> call_seconds;
  std::vector<std::byte> result;  // the one of a reduction, the first elements of others
  std::uint64_t scratch = 0;
};

// Throws std::runtime_error for what CUB and cuBLAS cannot do, or where cuBLAS is not here.
CubReduced cub_reduce(const CubReduceTask& task);

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
// CUB behind a plain function, so that only cub_histogram.cu is compiled by nvcc.
#pragma once

#include "cub_types.h"

#include <cstdint>
#include <vector>

namespace masu::bench {

struct CubTask {
  CubType type;
  unsigned channels;  // 1, 3 or 4, more than 1 for u8 alone
  unsigned bins;
  double hi;                 // even bins of [0, hi) …
  std::vector<float> edges;  // … or, where there are any, between these; f32 alone
  const void* data;
  std::uint64_t count;
  unsigned repeats;  // fewer where they take long
};

struct CubResult {
  std::vector<double> seconds;  // device time of each repeat
  std::vector<std::uint64_t> counts;
  std::uint64_t scratch;  // bytes that CUB asked for
};

// HistogramEven, HistogramRange or MultiHistogramEven of DeviceHistogram. Throws std::runtime_error.
CubResult cub_histogram(const CubTask& task);

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
// CUB behind a plain function, so that only cub.cu is compiled by nvcc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace masu::bench {

enum class CubType { u8, f32, f64 };

struct CubResult {
  std::vector<double> seconds;  // device time of each repeat
  std::vector<std::uint64_t> counts;
};

std::string cub_version();
// DeviceHistogram::HistogramEven over [0, 256) for u8, [0, 1) for floats. Throws std::runtime_error.
CubResult cub_histogram(CubType type, const void* data, std::uint64_t count, unsigned bins, unsigned repeats);

}  // namespace masu::bench

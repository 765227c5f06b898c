// SPDX-License-Identifier: Apache-2.0
// peer_cub: NVIDIA's CUB, device time.
#include "cub_histogram.h"
#include "peer.h"

#include <array>

int main(int argc, char** argv) {
  using namespace masu;
  const auto run = [](const bench::Task& task) {
    const auto type = task.what.dtype == Dtype::u8    ? bench::CubType::u8
                      : task.what.dtype == Dtype::f32 ? bench::CubType::f32
                                                      : bench::CubType::f64;
    const auto bins = static_cast<unsigned>(task.what.bins);
    const bench::CubResult found = bench::cub_histogram(type, task.data.data, task.data.count, bins, task.repeats);
    bench::Measured measured;
    for (const double seconds : found.seconds) measured.seconds.add(seconds);
    measured.counts = found.counts;
    return measured;
  };
  constexpr std::array<std::string_view, 2> sizes = {"1Gi", "100Mi"};
  return bench::peer_main(argc, argv, {{bench::cub_version(), "cuda:0", {"u8-256", "f32-100", "f64-100"}, 0, run}},
                          sizes);
}

// SPDX-License-Identifier: Apache-2.0
// peer_cub: NVIDIA's CUB, device time.
#include "cub_histogram.h"
#include "peer.h"

#include <array>
#include <stdexcept>
#include <utility>

namespace {

using namespace masu;

constexpr std::array<std::pair<Dtype, bench::CubType>, 5> types{{{Dtype::u8, bench::CubType::u8},
                                                                 {Dtype::u16, bench::CubType::u16},
                                                                 {Dtype::i32, bench::CubType::i32},
                                                                 {Dtype::f32, bench::CubType::f32},
                                                                 {Dtype::f64, bench::CubType::f64}}};

bench::CubType cub_type(Dtype dtype) {
  for (const auto& [known, type] : types) {
    if (known == dtype) return type;
  }
  throw std::runtime_error("peer_cub: no case has this type");
}

bench::Measured run(const bench::Task& task) {
  const bench::HistogramCase& what = task.what;
  bench::CubTask cub{cub_type(what.dtype), what.channels, static_cast<unsigned>(what.bins), what.hi, {}, task.data.data,
                     task.data.count,      task.repeats};
  if (what.kind == bench::HistogramCase::Kind::edges) {
    for (const double edge : bench::random_edges(what.bins)) cub.edges.push_back(static_cast<float>(edge));
  }
  const bench::CubResult found = bench::cub_histogram(cub);
  bench::Measured measured;
  for (const double seconds : found.seconds) measured.seconds.add(seconds);
  measured.counts = found.counts;
  measured.scratch = found.scratch;
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::array<std::string_view, 2> sizes = {"1Gi", "100Mi"};
  const std::vector<std::string> cases = {
      "u8-256",   "rgb-256",   "rgba-256",     "u16-100",       "u16-1000", "u16-65536", "i32-100",
      "i32-1000", "i32-10000", "f32-16",       "f32-100",       "f32-1000", "f32-10000", "f32-50000",
      "f64-100",  "f64-1000",  "f32-edges100", "f32-edges1000", "f32-1e6",  "f32-1e7",   "i32-1e7"};
  return bench::peer_main(argc, argv, {{bench::cub_version(), "cuda:0", cases, 0, run}}, sizes);
}

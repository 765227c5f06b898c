// SPDX-License-Identifier: Apache-2.0
// peer_cub: NVIDIA's CUB, device time.
#include "cub_histogram.h"
#include "cub_reduce.h"
#include "cub_sort.h"
#include "peer.h"

#include <array>
#include <stdexcept>
#include <utility>

namespace {

using namespace masu;

constexpr std::array<std::pair<Dtype, bench::CubType>, 9> types{{{Dtype::u8, bench::CubType::u8},
                                                                 {Dtype::u16, bench::CubType::u16},
                                                                 {Dtype::u32, bench::CubType::u32},
                                                                 {Dtype::i32, bench::CubType::i32},
                                                                 {Dtype::u64, bench::CubType::u64},
                                                                 {Dtype::i64, bench::CubType::i64},
                                                                 {Dtype::f16, bench::CubType::f16},
                                                                 {Dtype::f32, bench::CubType::f32},
                                                                 {Dtype::f64, bench::CubType::f64}}};

bench::CubType cub_type(Dtype dtype) {
  for (const auto& [known, type] : types) {
    if (known == dtype) return type;
  }
  throw std::runtime_error("peer_cub: no case has this type");
}

bench::Measured count(const bench::HistogramPeer::Task& task) {
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

bench::Sorted sort(const bench::SortPeer::Task& task, bench::CubSort keys, bench::CubSort pairs) {
  const bool alone = task.what->kind != bench::SortCase::Kind::pairs && !task.what->has_order();
  bench::CubSorted found = bench::cub_sort({cub_type(task.keys.dtype), alone ? keys : pairs, task.keys.data,
                                            task.keys.count, task.offsets, task.repeats, task.result});
  bench::Sorted sorted;
  for (const double seconds : found.device_seconds) sorted.kernel.add(seconds);
  for (const double seconds : found.call_seconds) sorted.call.add(seconds);
  sorted.keys = std::move(found.keys);
  sorted.values = std::move(found.values);
  sorted.scratch = found.scratch;
  return sorted;
}

bench::SortPeer sort_peer(const char* name, const std::vector<std::string>& cases, bool nans_last, bench::CubSort keys,
                          bench::CubSort pairs) {
  return {{bench::cub_version() + " " + name, "cuda:0", cases, 0},
          true,
          nans_last,
          [keys, pairs](const bench::SortPeer::Task& task) { return sort(task, keys, pairs); }};
}

bench::Reduced reduce(const bench::ReducingPeer::Task& task, bench::CubReduction what) {
  const bench::CubReduced found =
      bench::cub_reduce({what, cub_type(task.x.dtype), task.x.data, task.y.data, task.x.count, task.repeats});
  bench::Reduced reduced;
  for (const double seconds : found.device_seconds) reduced.kernel.add(seconds);
  for (const double seconds : found.call_seconds) reduced.call.add(seconds);
  reduced.scratch = found.scratch;
  return reduced;
}

bench::ReducingPeer reducing_peer(const std::string& name, const std::vector<std::string>& cases,
                                  bench::CubReduction what) {
  return {{name, "cuda:0", cases, 0}, [what](const bench::ReducingPeer::Task& task) { return reduce(task, what); }};
}

}  // namespace

int main(int argc, char** argv) {
  using bench::CubSort;
  std::vector<std::string> counted = {"u8-256",    "rgb-256",      "rgba-256",     "u16-100",   "u16-1000",
                                      "u16-65536", "i32-100",      "i32-1000",     "i32-10000", "f32-16",
                                      "f32-100",   "f32-1000",     "f32-10000",    "f32-50000", "f64-100",
                                      "f64-1000",  "f32-edges100", "f32-edges1000"};
  if (bench::cub_keeps_to_its_tables()) counted.insert(counted.end(), {"f32-1e6", "f32-1e7", "i32-1e7"});
  const std::vector<std::string> radix = {"u32",           "f32",         "u64",        "u8",  "u16",
                                          "i32",           "i64",         "f64",        "f16", "pairs-u32-u32",
                                          "pairs-u64-u32", "argsort-u32", "argsort-f32"};
  const std::vector<std::string> merge = {"u32", "f32", "u64", "pairs-u32-u32", "argsort-u32"};
  using bench::CubReduction;
  const std::vector<std::string> sums = {"f32-sum", "f64-sum", "i32-sum", "u64-sum"};
  const std::vector<std::string> dots = {"f32-dot", "f64-dot"};
  const std::vector<std::string> minima = {"f32-min", "f64-min"};
  const std::vector<std::string> maxima = {"f32-max", "u8-max", "i32-max", "u64-max"};
  const std::vector<std::string> scans = {"u32-sum", "i32-sum", "u64-sum", "f32-sum", "f64-sum"};
  const auto cub = [](const char* name) { return bench::cub_version() + " " + name; };
  const std::vector<std::string> parts = {"rows-256", "segments-4Ki", "segments-64Ki", "segments-1Mi"};
  return bench::peer_main(
      argc, argv,
      {bench::histogram_peers({{{bench::cub_version(), "cuda:0", counted, 0}, count}}, {"1Gi", "100Mi"}),
       bench::sort_peers({sort_peer("radix", radix, false, CubSort::radix_keys, CubSort::radix_pairs),
                          sort_peer("segmented", parts, true, CubSort::segmented, CubSort::segmented),
                          sort_peer("merge", merge, false, CubSort::merge_keys, CubSort::merge_pairs)},
                         {"256Mi", "16Mi"}),
       bench::reducing_peers(
           "sum",
           {reducing_peer(cub("Sum"), sums, CubReduction::sum), reducing_peer("cuBLAS dot", dots, CubReduction::dot)},
           {"256Mi", "4Mi"}),
       bench::reducing_peers(
           "reduce",
           {reducing_peer(cub("Min"), minima, CubReduction::min), reducing_peer(cub("Max"), maxima, CubReduction::max),
            reducing_peer(cub("ArgMin"), minima, CubReduction::argmin)},
           {"256Mi", "4Mi"}),
       bench::reducing_peers("scan", {reducing_peer(cub("InclusiveSum"), scans, CubReduction::scan)},
                             {"256Mi", "4Mi"})});
}

// SPDX-License-Identifier: Apache-2.0
// Counting as a programmer would write it: one table, and several tables so that equal neighbours do not wait for
// each other's counter. Floats are binned by the naive product, which is not exact.
#include "loops.h"

#include <thread>

namespace masu::bench {
namespace {

template <class T>
std::size_t bin_of(T value, std::size_t bins) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<std::size_t>(value * static_cast<T>(bins));
  } else {
    return static_cast<std::size_t>(value);
  }
}

// Counts `count` values in [0, 1), or whole numbers from 0 on, with Tables tables.
template <class T, std::size_t Tables>
void count_values(const T* values, std::uint64_t count, std::size_t bins, std::uint64_t* totals) {
  std::vector<std::uint32_t> tables(Tables * bins);
  std::uint64_t i = 0;
  for (; i + Tables <= count; i += Tables) {
    for (std::size_t k = 0; k < Tables; ++k) ++tables[k * bins + bin_of(values[i + k], bins)];
  }
  for (; i < count; ++i) ++tables[bin_of(values[i], bins)];
  for (std::size_t slot = 0; slot < tables.size(); ++slot) totals[slot % bins] += tables[slot];
}

template <class T, std::size_t Tables>
std::vector<std::uint64_t> count_threads(const HistogramPeer::Task& task) {
  const auto* values = static_cast<const T*>(task.data.data);
  const std::uint64_t count = task.data.count;
  std::vector<std::vector<std::uint64_t>> parts(task.threads, std::vector<std::uint64_t>(task.what.bins));
  const auto part = [&](unsigned thread) {
    const std::uint64_t begin = count * thread / task.threads;
    const std::uint64_t end = count * (thread + 1) / task.threads;
    count_values<T, Tables>(values + begin, end - begin, task.what.bins, parts[thread].data());
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 1; thread < task.threads; ++thread) threads.emplace_back(part, thread);
    part(0);
  }
  for (unsigned thread = 1; thread < task.threads; ++thread) {
    for (std::size_t bin = 0; bin < task.what.bins; ++bin) parts[0][bin] += parts[thread][bin];
  }
  return parts[0];
}

template <std::size_t Tables>
Measured run(const HistogramPeer::Task& task) {
  Measured measured;
  measured.seconds = time_repeats(task.repeats, [&] {
    measured.counts = task.what.dtype == Dtype::u8    ? count_threads<std::uint8_t, Tables>(task)
                      : task.what.dtype == Dtype::i32 ? count_threads<std::int32_t, Tables>(task)
                      : task.what.dtype == Dtype::f32 ? count_threads<float, Tables>(task)
                                                      : count_threads<double, Tables>(task);
  });
  return measured;
}

}  // namespace

PeerSuite counting_loops() {
  const std::vector<std::string> cases = {"u8-256", "f32-100", "f64-100"};
  std::vector<std::string> plain = cases;  // more than one table of 10^7 bins helps nobody
  plain.emplace_back("i32-1e7");
  return histogram_peers({{{"loop, 1 table", "cpu", plain, 10'000'000}, run<1>},
                          {{"loop, 4 tables", "cpu", cases, 1U << 16}, run<4>},
                          {{"loop, 8 tables", "cpu", cases, 1U << 16}, run<8>}},
                         {"100Mi"});
}

}  // namespace masu::bench

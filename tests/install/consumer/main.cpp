// SPDX-License-Identifier: Apache-2.0
// What a user of the installed library writes: counts 1,000 bytes, from memory or through masu::io, and plots them.
#include <masu/masu.h>
#ifdef USE_IO
#include <masu/io.h>
#endif
#ifdef USE_PLOT
#include <masu/plot.h>
#endif

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  std::vector<std::uint8_t> bytes(1000);
#ifdef USE_IO
  const auto source = masu::io::open("iota:u8:1000");
  if (source->read(bytes.data(), bytes.size()) != bytes.size()) return 1;
#else
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
#endif
  const masu::Histogram h = masu::histogram(masu::Device::open("cpu"), bytes, masu::Bins::integers(256));
  try {
    masu::Bins::even(0, 0, 1);
    return 2;
  } catch (const masu::Error& error) {
    if (error.code() != masu::ErrorCode::invalid_argument) return 3;
  }
  const bool right = h.n() == 1000 && h.counts()[0] == 4 && h.counts()[231] == 4 && h.counts()[232] == 3;
#ifdef USE_PLOT
  masu::plot::HistogramChart chart;
  chart.series = {masu::plot::series(h)};
  if (!masu::plot::draw(chart, masu::plot::Format::pdf).starts_with("%PDF")) return 5;
#endif
  std::printf("masu %s: %s\n", std::string(masu::version()).c_str(), right ? "right" : "wrong");
  return right ? 0 : 4;
}

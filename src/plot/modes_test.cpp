// SPDX-License-Identifier: Apache-2.0
// A chart does not depend on the floating-point environment of the caller's thread.
#include "floating_point_modes.h"

#include <gtest/gtest.h>
#include <masu/plot.h>

#include <cstdint>
#include <vector>

namespace masu::plot {
namespace {

TEST(FloatingPointModes, Charts) {
  const std::vector<std::uint64_t> counts = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  std::vector<double> edges;
  for (int i = 0; i <= 10; ++i) edges.push_back(0.1 * i - 0.3);
  HistogramChart steps;
  steps.series.push_back({"a", std::nullopt, axis(edges), counts});
  HeatMap map = heat_map(counts, {0, 0.1, 0.3, 0.7, 1.1, 1.3});
  BarChart bars;
  bars.groups = {{"group", {{"one", 0.1, "0.1"}, {"two", 1e-310, ""}, {"three", 1.0 / 3, ""}}}};
  test::expect_same_in_all_modes({"steps", [&](test::Bits& bits) { bits.add(draw(steps, Format::svg)); }});
  test::expect_same_in_all_modes({"heat map", [&](test::Bits& bits) { bits.add(draw(map, Format::svg)); }});
  test::expect_same_in_all_modes({"bars", [&](test::Bits& bits) { bits.add(draw(bars, Format::svg)); }});
}

}  // namespace
}  // namespace masu::plot

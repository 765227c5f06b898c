// SPDX-License-Identifier: Apache-2.0
// A report for people: a table, and a chart.
#pragma once

#include "harness.h"
#include "suites.h"

#include <masu/plot.h>

#include <span>
#include <string>

namespace masu::bench {

std::string table(std::span<const Row> rows);
// Horizontal bars: the ratio of each kernel row to the suite's ceiling.
plot::BarChart chart(const Suite& suite, std::span<const DeviceInfo> devices, std::span<const Row> rows);

}  // namespace masu::bench

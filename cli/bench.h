// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/selection.h"
#include "errors.h"

namespace masu::cli {

// Measures and reports. Two programs define it: masu-bench measures (bench/command.cpp), masu runs masu-bench
// (cli/bench_elsewhere.cpp).
Exit run_bench(const bench::Options& options);

}  // namespace masu::cli

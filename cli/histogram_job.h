// SPDX-License-Identifier: Apache-2.0
// `masu histogram` of one input, from opening it to the result.
#pragma once

#include "histogram_result.h"
#include "progress.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

// Which bins were asked for: at most one of `edges`, `integers`, and `bins` with or without `range`.
struct BinsRequest {
  std::optional<std::uint64_t> bins;
  std::optional<std::pair<double, double>> range;
  std::optional<std::uint64_t> integers;
  std::vector<double> edges;
};

struct HistogramJob {
  BinsRequest bins;
  HistogramOptions options;             // channels are set from the input
  std::optional<unsigned> channels;     // --channels
  std::string device;                   // "": MASU_DEVICE, or else the best for the input's size
  std::optional<std::uint64_t> memory;  // --memory
  io::SourceOptions source;
  bool summaries = false;  // the table's range and mean
  bool verify = false;
};

// Throws Differs when the job is to verify and the reference counts otherwise.
HistogramResult run_histogram(const HistogramJob& job, const std::string& input, Progress& progress);

}  // namespace masu::cli

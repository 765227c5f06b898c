// SPDX-License-Identifier: Apache-2.0
// `masu histogram` of one input, or of the columns of a joint histogram, from opening it to the result.
#pragma once

#include "cli/histogram/bins_request.h"
#include "cli/histogram/histogram_result.h"
#include "progress.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

struct HistogramJob {
  std::vector<BinsRequest> bins;        // one, or one for each column of a joint histogram
  HistogramOptions options;             // channels are set from the input
  std::optional<unsigned> channels;     // --channels
  std::optional<std::uint64_t> rows;    // --rows
  std::optional<Region> region;         // --region
  std::optional<std::uint64_t> pitch;   // --pitch
  bool joint = false;                   // --joint: the inputs are columns
  bool paired = false;                  // values stay beside those of another input
  std::string device;                   // "": MASU_DEVICE, or else the best for the input's size
  std::optional<std::uint64_t> memory;  // --memory
  io::SourceOptions source;
  std::vector<std::string> columns;  // --column
  bool summaries = false;            // the table's range and mean
  bool plot = false;                 // the result will be drawn
  bool verify = false;
};

// Takes one input, or all of them for a joint histogram. Throws Differs when the job is to verify and the reference
// counts otherwise.
HistogramResult run_histogram(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress);

}  // namespace masu::cli

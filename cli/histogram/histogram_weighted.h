// SPDX-License-Identifier: Apache-2.0
// `masu histogram --weights`: the exact sum of the weights in each bin, from opening the inputs to writing the result.
#pragma once

#include "cli/histogram/histogram_job.h"
#include "cli/histogram/histogram_result.h"

#include <masu/weighted_histogram.h>

#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

struct WeightedJob {
  std::string weights;     // --weights
  io::SourceOptions from;  // how they are read
  bool variances = false;
};

struct WeightedResult {
  io::SourceInfo source;
  std::string weights;  // the name of their input
  WeightedHistogram histogram;
  bool by_rows = false;                   // --rows was given
  std::vector<Dtype> column_edge_dtypes;  // how the edges of each column are printed
  std::string device;
  Seconds seconds;
  std::uint64_t bytes = 0;
};

// Throws Differs when the job is to verify and the plain sums are others.
WeightedResult run_weighted(const HistogramJob& job, const WeightedJob& weighted, std::span<const std::string> inputs,
                            Progress& progress);

// `format`: table, json, csv or npy.
void write_weighted(const WeightedResult& result, std::string_view format, bool density, const Sink& sink);

}  // namespace masu::cli

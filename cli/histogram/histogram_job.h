// SPDX-License-Identifier: Apache-2.0
// `masu histogram` of one input, or of the columns of a joint histogram, from opening it to the result.
#pragma once

#include "cli/histogram/bins_request.h"
#include "cli/histogram/histogram_result.h"
#include "shared_input.h"
#include "terminal.h"

#include <masu/io.h>
#include <cstdint>
#include <memory>
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

// What a job of `masu histogram` reads: sources, how their values belong together, and their names.
struct HistogramInput {
  std::vector<std::unique_ptr<io::Source>> sources;  // several for joint histograms only
  std::vector<Way> ways;                             // how the ranks share each
  std::optional<std::uint64_t> elements;             // values of all sources and ranks together, where that is known
  io::SourceInfo info;                               // of the first one, with the name of all
  unsigned channels = 1;                             // interleaved values of each source
  std::vector<std::string> names;                    // of channels or columns, where they have any

  // Of all ranks; and the bytes of this one.
  [[nodiscard]] std::optional<std::uint64_t> count() const { return elements; }
  [[nodiscard]] std::optional<std::uint64_t> bytes() const;
  [[nodiscard]] std::uint64_t bad_lines() const;
  void keep_for_rewind();
  void add(SharedSource source);
};

// One input, or, for a joint histogram, all of them. Throws for options that do not suit what is found.
HistogramInput open_histogram_input(const HistogramJob& job, std::span<const std::string> inputs);

}  // namespace masu::cli

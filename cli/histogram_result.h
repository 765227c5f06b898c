// SPDX-License-Identifier: Apache-2.0
// What `masu histogram` found in one input, and the forms in which it is written.
#pragma once

#include "summary.h"

#include <masu/histogram.h>
#include <masu/io.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::cli {

struct Seconds {
  double read = 0;
  double transfer = 0;
  double compute = 0;
  double total = 0;
};

struct HistogramResult {
  io::SourceInfo source;
  std::vector<Histogram> channels;
  std::vector<std::string> names;  // of the channels; empty when there is one without a name
  std::vector<Summary> summaries;  // for the table only
  bool one_value = false;          // every bin holds one integer value
  Dtype edge_dtype = Dtype::f64;   // how edges are printed
  std::string device;
  Seconds seconds;
  std::uint64_t bad_lines = 0;
  std::uint64_t bytes = 0;
};

// Takes the text of a result, piece by piece.
using Sink = std::function<void(std::string_view)>;

// `several`: there is more than one input, so each result says which one it is of; `first` of them: the CSV's header.
struct WriteOptions {
  bool several = false;
  bool first = true;
};

// A bar chart as wide as `width` columns, for people.
struct TableOptions {
  unsigned width = 80;
  bool utf8 = false;
};
void write_table(const HistogramResult& result, const TableOptions& options, const Sink& sink);
void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
// The counts as u64, of shape (bins) or (channels, bins).
void write_npy(const HistogramResult& result, const WriteOptions& options, const Sink& sink);

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// What `masu histogram` found in one input, and the forms in which it is written.
#pragma once

#include "json.h"
#include "terminal.h"

#include <masu/histogram.h>
#include <masu/io.h>
#include <masu/joint_histogram.h>
#include <masu/row_histogram.h>
#include <masu/sum.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

// What is known of integer data before it is counted: the limits of its dtype, or those found in it.
struct Bounds {
  double least;
  double greatest;
};
Bounds dtype_bounds(Dtype dtype);

// True when the data are integers and every bin holds exactly one value of them: bin i edge(0) + i.
bool one_value_per_bin(const Histogram& histogram, Bins::Kind kind, bool half_open, const Bounds& bounds);

// The least and the greatest finite value of one channel, and the exact mean of the finite values.
class Summary {
 public:
  // Looks at channel `channel` of `channels` of a piece of the data.
  void add(const ArrayView& data, unsigned channel, unsigned channels);
  // The same from a histogram without outsiders of which one_value_per_bin() holds.
  void add(const Histogram& histogram);

  // Makes it that of the data of all ranks, which come here together.
  void merge_ranks();

  // "0:255" in the shortest form that reads back; "-" when there is no finite value.
  [[nodiscard]] std::string range() const;
  [[nodiscard]] std::string mean() const;

 private:
  template <class T>
  void add_values(const T* values, std::uint64_t pixels, unsigned channels);

  Dtype dtype_ = Dtype::f64;
  std::uint64_t lo_ = 0;  // the bits of a value of dtype_
  std::uint64_t hi_ = 0;
  ExactSum sum_;
};

// One of the three shapes: `channels`, `rows`, or `joint`.
struct HistogramResult {
  io::SourceInfo source;
  std::vector<Histogram> channels;
  std::optional<RowHistograms> rows;
  std::optional<Histogram> first_row;  // of rows: stands for them where all have the same
  std::optional<JointHistogram> joint;
  std::vector<std::string> names;         // of channels or columns; empty when there is one without a name
  std::vector<Summary> summaries;         // of channels, for the table only
  bool one_value = false;                 // every bin holds one integer value
  Dtype edge_dtype = Dtype::f64;          // how edges are printed
  std::vector<Dtype> column_edge_dtypes;  // the same for the columns of a joint histogram
  std::string device;
  Seconds seconds;
  std::uint64_t bad_lines = 0;
  std::uint64_t bytes = 0;

  // What channels and rows have in common. `row` is 0 where there are no rows.
  struct Block {
    std::span<const std::uint64_t> counts;
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    std::uint64_t nan = 0;
    [[nodiscard]] std::uint64_t n() const;
  };
  [[nodiscard]] const Histogram& first() const { return rows ? *first_row : channels.front(); }
  [[nodiscard]] std::uint64_t row_count() const { return rows ? rows->rows() : 1; }
  [[nodiscard]] unsigned channel_count() const;
  [[nodiscard]] Block block(std::uint64_t row, unsigned channel) const;
  [[nodiscard]] std::vector<double> density(std::uint64_t row, unsigned channel) const;
  // What a column of a joint histogram is called: a mere number as "column 0".
  [[nodiscard]] std::string column_name(unsigned d) const;
  // All values or points, and those of them that lie in no bin.
  [[nodiscard]] std::uint64_t n() const;
  [[nodiscard]] std::uint64_t outsiders() const;
  [[nodiscard]] Strategy strategy() const;
};

// `several`: there is more than one input, so each result says which one it is of; `first` of them: the CSV's header.
struct WriteOptions {
  bool several = false;
  bool first = true;
  bool density = false;
  bool cumulative = false;
  bool log_counts = false;  // bars by the logarithm of the counts
};

// A chart as wide as `width` columns, for people.
struct TableOptions {
  unsigned width = 80;
  bool utf8 = false;
  bool density = false;
  bool cumulative = false;
  bool log_counts = false;
};
void write_table(const HistogramResult& result, const TableOptions& options, const Sink& sink);
void write_row_table(const HistogramResult& result, const TableOptions& options, const Sink& sink);
void write_joint_table(const HistogramResult& result, const TableOptions& options, const Sink& sink);
void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
// The counts (or, as asked, the cumulative counts) as u64, the density as f64: of shape (bins), (channels, bins),
// (rows, bins), (rows, channels, bins), or that of a joint histogram's grid.
void write_npy(const HistogramResult& result, const WriteOptions& options, const Sink& sink);

}  // namespace masu::cli

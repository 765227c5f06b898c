// SPDX-License-Identifier: Apache-2.0
// `masu histogram` of one input, or of the columns of a joint histogram, from opening it to the forms of the result.
#pragma once

#include "cli/arrays/array_stream.h"
#include "io/picture.h"
#include "text.h"

#include <masu/bins.h>
#include <masu/device.h>
#include <masu/histogram.h>
#include <masu/io.h>
#include <masu/joint_histogram.h>
#include <masu/plot.h>
#include <masu/reduce.h>
#include <masu/row_histogram.h>
#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::cli {

class GroupedTable;

// What was found in one input, and the forms in which it is written.

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
  explicit Summary(Dtype dtype);
  // Looks at channel `channel` of `channels` of a piece of the data.
  void add(const ArrayView& data, unsigned channel, unsigned channels);
  // Ends it: of the data of all ranks, which come here together.
  void finish();
  // Instead: from a histogram without outsiders of which one_value_per_bin() holds.
  void finish(const Histogram& histogram);

  // "0:255" in the shortest form that reads back; "-" when there is no finite value.
  [[nodiscard]] const std::string& range() const { return range_; }
  [[nodiscard]] const std::string& mean() const { return mean_; }

 private:
  void add(const ArrayView& block);
  Device cpu_ = Device::open("cpu");
  ReduceAccumulator extremes_;
  SumAccumulator sum_;
  std::string range_ = "-";
  std::string mean_ = "-";
};

// Reports about inputs that are texts, by name.
using NamedReports = std::vector<std::pair<std::string, io::TextReport>>;

// One of four shapes: `channels`, `rows`, `joint`, or `weighted`. Groups are channels.
struct HistogramResult {
  io::SourceInfo source;
  std::vector<Histogram> channels;
  std::optional<RowHistograms> rows;
  std::optional<Histogram> first_row;  // of rows: stands for them where all have the same
  std::optional<JointHistogram> joint;
  std::optional<WeightedHistogram> weighted;
  std::string weights;                   // the name of their input
  bool by_rows = false;                  // --rows was given
  std::vector<std::string> names;        // of channels or columns; empty when there is one without a name
  std::vector<std::string> group_names;  // the columns that group; `names` has the entries of each group in one text
  std::vector<std::vector<std::string>> groups;  // and these apart
  std::vector<Summary> summaries;                // of channels, for the table only, and only of those that it shows
  bool one_value = false;                        // every bin holds one integer value
  bool half_open = false;                        // the last bin does not hold its upper edge
  Dtype edge_dtype = Dtype::f64;                 // how edges are printed
  std::vector<Dtype> column_edge_dtypes;         // the same for the columns of a joint histogram
  std::string device;
  Seconds seconds;
  NamedReports texts;
  std::optional<io::Picture> picture;  // of HistogramJob::picture
  std::uint64_t bytes = 0;

  // What all shapes but `weighted` have in common. `row` and `channel` are 0 where there are none.
  struct Block {
    std::span<const std::uint64_t> counts;
    std::uint64_t below = 0;  // of a joint histogram: outside
    std::uint64_t above = 0;
    std::uint64_t nan = 0;
    [[nodiscard]] std::uint64_t n() const;
  };
  [[nodiscard]] const Histogram& first() const { return rows ? *first_row : channels.front(); }
  [[nodiscard]] std::uint64_t row_count() const;
  [[nodiscard]] unsigned channel_count() const;
  [[nodiscard]] Block block(std::uint64_t row, unsigned channel) const;
  template <class Take>
  void each_block(const Take& take) const {
    for (std::uint64_t row = 0; row < row_count(); ++row) {
      for (unsigned channel = 0; channel < channel_count(); ++channel) take(block(row, channel));
    }
  }
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
  bool percent = false;
  bool equalize = false;
  bool otsu = false;
  bool log_counts = false;   // bars by the logarithm of the counts
  std::uint64_t limit = 20;  // bars of texts
  bool on_terminal = false;
  bool colours = false;  // of bars
  unsigned width = 80;   // columns of a chart
  bool utf8 = false;
};

// The most frequent texts, at most `limit` of them, equal counts in the order of the texts.
struct NamedBars {
  std::vector<std::string> texts;
  std::vector<std::uint64_t> counts;
  std::uint64_t other = 0;  // the count of all others
  std::string others;       // "other (7 texts)"
  std::uint64_t distinct = 0;
  std::uint64_t all = 0;  // that were counted
  [[nodiscard]] double percent(std::uint64_t count) const {
    return 100 * static_cast<double>(count) / static_cast<double>(all);
  }
};
bool has_texts(const HistogramResult& result);
NamedBars named_bars(const HistogramResult& result, std::uint64_t limit);

// Pictures (pictures.cpp).

struct PictureOptions {
  std::string path;  // its ending says the format, or it is "svg:-"
  std::string title;
  std::string size;
  bool dark = false;
  std::string column;   // what the values are called
  std::string weights;  // and their weights; empty: as their input
  [[nodiscard]] bool to_stdout() const;
};
// Throws invalid_argument for what cannot be drawn.
void check_picture(const PictureOptions& asked, std::size_t inputs, bool weighted_map);
// Channels, groups and inputs over one axis, rows and two columns as a map. A joint histogram has 1 or 2 columns here.
void write_picture(std::span<const HistogramResult> results, const WriteOptions& options, const PictureOptions& asked);

// The threshold, null where fewer than two bins have counts, and the levels, all 0 where nothing was counted.
std::string otsu_text(const Histogram& histogram);
std::vector<std::uint16_t> levels_of(const Histogram& histogram);
inline constexpr std::size_t most_groups_shown = 40;
inline constexpr int chart_digits = 6;  // enough to read a chart; the other formats have them all

// For people: charts, and lines where there are weights.
void write_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_weighted_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_tsv(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
// The counts (or, as asked, the cumulative counts) as u64, totals, or the density as f64: of shape (bins),
// (channels, bins), (rows, bins), (rows, channels, bins), or that of a joint histogram's grid.
void write_npy(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_raw(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
// JSON of scikit-hep's UHI.
void write_uhi(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
// The picture.
void write_png(const HistogramResult& result, const WriteOptions& options, const Sink& sink);
void write_pnm(const HistogramResult& result, const WriteOptions& options, const Sink& sink);

// Which bins the options --bins, --range, --edges, --integers and --log ask for.

inline constexpr std::uint64_t default_bins = 100;

// What was asked for one column: at most one of `edges`, `integers`, `rule`, and `bins` with or without `range`.
struct BinsRequest {
  std::optional<std::uint64_t> bins;
  std::optional<Estimator> rule;  // may have a `range` too
  std::optional<std::pair<double, double>> range;
  std::optional<std::uint64_t> integers;
  std::vector<double> edges;
  bool log = false;  // the bins have equal ratios
  std::optional<double> width;
  bool nice = false;  // a round width is found
  std::string unit;   // of the calendar
};

// The options' values as they were given.
struct BinsTexts {
  std::string bins;
  std::string range;
  std::string edges;
  std::string integers;
  std::string width;
  bool log = false;
  bool nice = false;
};

// One request, or, with `joint`, as many as the values separated by ';' are. Throws invalid_argument for what no data
// can be counted in, before any input is opened.
std::vector<BinsRequest> parse_bins(const BinsTexts& texts, bool joint);

// Turns what was asked for one column into bins; where they depend on the data, from passes over it:
//   while (finder.wants_data()) { for (…) finder.add(piece); finder.end_pass(); }
class BinsFinder {
 public:
  BinsFinder(const BinsRequest& request, const io::SourceInfo& info, const Device& device);
  [[nodiscard]] bool wants_data() const { return !bins_; }
  // A piece of this pass.
  void add(const ArrayView& piece);
  // Joins what all ranks found in this pass; collective.
  void end_pass();
  // The bins, when no more data is wanted.
  [[nodiscard]] const Bins& bins() const { return *bins_; }
  // The range that was found on the way, if any.
  [[nodiscard]] const std::optional<ValueRange>& range() const { return range_; }
  // The dtype in which the edges are exact and printed.
  [[nodiscard]] Dtype edge_dtype(bool joint) const;

 private:
  void end_estimate();
  void check_width() const;
  BinsRequest request_;
  std::string name_;
  bool instants_;
  std::optional<std::pair<std::int64_t, std::int64_t>> exact_range_;  // of instants
  Dtype dtype_;
  Device device_;
  std::optional<Bins> bins_;
  std::optional<BinEstimator> estimator_;
  std::optional<ValueRange> range_;
};

// Those of the columns of an input, from one request for all of them, or one for each.
std::vector<BinsFinder> bins_finders(std::span<const BinsRequest> requests, std::size_t columns,
                                     const io::SourceInfo& info, const Device& device);
bool want_data(std::span<const BinsFinder> finders);
// The columns of a piece, or all of them interleaved in one.
void look_at(std::span<BinsFinder> finders, std::span<const ArrayView> piece);

// --weights: the exact sum of the weights in each bin instead of a count.
struct WeightedJob {
  std::string input;
  io::SourceOptions from;  // how they are read
  bool variances = false;
};

// The image with other samples: those of --equalize, or black and white of --otsu.
enum class MappedPicture { none, equalized, parted };

struct HistogramJob {
  std::vector<BinsRequest> bins;        // one, or one for each column of a joint histogram
  HistogramOptions options;             // channels are set from the input
  std::optional<unsigned> channels;     // --channels
  std::optional<std::uint64_t> rows;    // --rows
  std::optional<Region> region;         // --region
  std::optional<std::uint64_t> pitch;   // --pitch
  bool joint = false;                   // --joint: the inputs are columns
  const GroupedTable* table = nullptr;  // --group: what is counted instead of the input
  std::optional<WeightedJob> weights;   // --weights
  std::string device;                   // "": MASU_DEVICE, or else the best for the input's size
  std::optional<std::uint64_t> memory;  // --memory
  io::SourceOptions source;
  std::vector<std::string> columns;  // --column
  bool summaries = false;            // the table's range and mean
  bool plot = false;                 // the result will be drawn
  MappedPicture picture = MappedPicture::none;
  bool verify = false;
};

// Takes one input, or all of them for a joint histogram. Throws Differs when the job is to verify and the reference
// counts otherwise.
HistogramResult run_histogram(const HistogramJob& job, std::span<const std::string> inputs, Progress& progress);

// What a job of `masu histogram` reads: sources, how their values belong together, and their names.
struct HistogramInput {
  std::vector<std::unique_ptr<io::Source>> sources;  // several columns for joint histograms only; weights are the last
  std::vector<Way> ways;                             // how the ranks share each
  std::optional<std::uint64_t> elements;             // values of all sources and ranks together, where that is known
  io::SourceInfo info;                               // of the first one, with the name of all
  unsigned channels = 1;                             // interleaved values of each source
  std::vector<std::string> names;                    // of channels or columns, where they have any
  std::size_t columns = 1;                           // of a joint histogram
  bool weighted = false;

  // Bytes of this rank, those of the weights too.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const;
  // Gives each rank its part, collective: how many of the rows it has, and the number of all values, where it is known
  // or must be.
  struct Share {
    std::uint64_t rows = 0;
    std::optional<std::uint64_t> values;
  };
  Share share(const HistogramJob& job);
  // Notes and reports of all sources, complete after they have been read.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] NamedReports texts() const;
  void add(SharedSource source);
  // The columns of a piece, or all of them interleaved in one, without the weights.
  [[nodiscard]] std::span<const ArrayView> columns_in(std::span<const ArrayView> piece) const {
    return piece.first(piece.size() - (weighted ? 1 : 0));
  }
};

// One input, or, for a joint histogram, all of them. Throws for options that do not suit what is found.
HistogramInput open_histogram_input(const HistogramJob& job, std::span<const std::string> inputs);

// The bins that are asked for; a picture has many where nothing is said.
std::vector<BinsRequest> requests_of(const HistogramJob& job, const io::SourceInfo& info);
// Each sample as the level of its bin, in the histogram of its channel. `next` gives the image once more, in pieces.
io::Picture mapped_picture(const HistogramJob& job, const HistogramInput& input, std::span<const Histogram> counted,
                           const std::function<ArrayView()>& next);

}  // namespace masu::cli

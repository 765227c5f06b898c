// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <optional>

namespace masu::cli {
namespace {

// Values and their weights, read side by side.
class Points {
 public:
  Points(const HistogramInput& input, std::span<const std::unique_ptr<io::Source>> weights, std::size_t columns,
         std::uint64_t bytes, Progress& progress)
      : input_(input),
        interleaved_(input.sources.size() == 1 ? columns : 1),
        values_(input.sources, input.channels, bytes, progress),
        weights_(weights, 1, bytes, progress),
        weights_name_(weights.front()->info().name) {}

  // The next piece: the columns, or all of them interleaved in one, and as many weights as points; false at the end.
  bool next(std::vector<ArrayView>& columns, ArrayView& weights) {
    if (rest_.empty() || rest_.front().count == 0) {
      const std::span<const ArrayView> found = values_.next();
      rest_.assign(found.begin(), found.end());
    }
    if (by_.count == 0) by_ = weights_.next().front();
    const std::uint64_t points = rest_.front().count / interleaved_;
    const std::uint64_t count = std::min(points, by_.count);
    if (count == 0 && points != by_.count) {
      data_error("there must be a weight for each value: {} ends before {}",
                 points == 0 ? input_.info.name : weights_name_, points == 0 ? weights_name_ : input_.info.name);
    }
    columns.clear();
    for (ArrayView& each : rest_) {
      columns.push_back({each.dtype, each.data, count * interleaved_});
      each = part_of(each, count * interleaved_, each.count - count * interleaved_);
    }
    weights = {by_.dtype, by_.data, count};
    by_ = part_of(by_, count, by_.count - count);
    return count > 0;
  }
  void rewind() {
    values_.rewind();
    weights_.rewind();
    rest_.clear();
    by_ = {};
  }
  [[nodiscard]] double seconds() const { return values_.seconds() + weights_.seconds(); }

 private:
  const HistogramInput& input_;
  std::size_t interleaved_;
  Pieces values_;
  Pieces weights_;
  std::string weights_name_;
  std::vector<ArrayView> rest_;
  ArrayView by_;
};

class WeightedRun {
 public:
  WeightedRun(const HistogramJob& job, const WeightedJob& weighted, std::span<const std::string> inputs,
              Progress& progress)
      : job_(job), progress_(progress), input_(open_histogram_input(job, inputs)) {
    SharedSource shared = open_shared(weighted.weights, weighted.from, false);
    weights_.push_back(std::move(shared.source));
    by_way_ = shared.way;
    const io::SourceInfo by = weights_.front()->info();
    const std::optional<std::uint64_t> by_count = shared_count(*weights_.front(), by_way_);
    columns_ = job.joint ? std::max<std::size_t>(input_.sources.size(), input_.channels) : 1;
    if (!job.joint && input_.channels != 1) {
      usage_error("--weights takes one channel (--channels 1 takes all values alike), {} has {}", input_.info.name,
                  input_.channels);
    }
    const std::optional<std::uint64_t> values = input_.count();
    if (values && by_count && *values != *by_count * columns_) {
      data_error("there must be a weight for each {}: {} has {}, {} has {}", job.joint ? "point" : "value",
                 input_.info.name, *values / columns_, by.name, *by_count);
    }
    points_ = values ? std::optional(*values / columns_) : by_count;
    options_ = {.right_open = job.options.right_open,
                .outside = job.options.outside,
                .variances = weighted.variances,
                .rows = job.rows.value_or(1),
                .memory = job.memory.value_or(0)};
    share_input();
    bytes_ = input_.bytes().value_or(0) + weights_.front()->info().count.value_or(0) * size_of(by.dtype);
  }

  WeightedResult operator()() {
    const auto began = Clock::now();
    const Device device = device_of_rank(job_.device, Work::reading, bytes_);
    BinsFinders finders(job_.bins, columns_, input_.info, device);
    Points points(input_, weights_, columns_, chunk_bytes(device, input_.sources.size() + 1, job_.memory) / 2,
                  progress_);
    look_at_the_data(points, finders);
    const std::uint64_t rows = options_.rows;
    if (job_.rows && *points_ % rows != 0) {
      usage_error("--rows {} must divide the {} values of {}", rows, *points_, input_.info.name);
    }
    const std::vector<Bins> bins = finders.bins();
    const Dtype dtype = input_.info.dtype;
    const Dtype by_dtype = weights_.front()->info().dtype;
    const std::uint64_t row_elements = points_.value_or(0) / rows;
    WeightedHistogramAccumulator accumulator(device, dtype, by_dtype, bins, options_, row_elements);
    std::optional<WeightedReference> reference;
    if (job_.verify) reference.emplace(dtype, bins, options_, job_.rows ? row_elements : 0);

    WeightedResult result;
    double verifying = 0;
    progress_.start("histogram", bytes_);
    std::vector<ArrayView> piece;
    ArrayView by;
    while (points.next(piece, by)) {
      if (piece.size() == columns_) accumulator.add(piece, by);
      else accumulator.add_interleaved(piece.front(), by);
      for (const ArrayView& each : piece) result.bytes += each.count * size_of(each.dtype);
      result.bytes += by.count * size_of(by.dtype);
      if (!reference) continue;
      const auto start = Clock::now();
      reference->add(piece, by);
      verifying += since(start);
    }
    const Times times = accumulator.times();
    if (reference && ranks().several()) reference->compare(input_.info.name, accumulator.result());
    merge_states("weighted histogram", device, accumulator);
    result.bytes = ranks().sum("bytes", result.bytes);
    // A total that does not fit is no wrong use.
    result.histogram = with_data(input_.info.name, [&] { return accumulator.result(); });
    progress_.finish();
    result.source = input_.info;
    result.source.notes = input_.notes();
    for (const std::string& text : weights_.front()->info().notes)
      result.source.notes.push_back(weights_.front()->info().name + ": " + text);
    result.weights = weights_.front()->info().name;
    result.texts = input_.texts();
    result.texts.emplace_back(result.weights, report_of_ranks(weights_.front()->report()));
    result.by_rows = job_.rows.has_value();
    result.device = device.id();
    result.column_edge_dtypes = finders.edge_dtypes(job_.joint);
    result.seconds = {points.seconds(), times.transfer, times.compute, since(began) - verifying};
    if (reference && !ranks().several()) reference->compare(input_.info.name, result.histogram);
    return result;
  }

 private:
  // Gives each rank as many values as weights; rows are the first rank's.
  void share_input() {
    const bool apart =
        by_way_ == Way::elements && !job_.rows &&
        std::all_of(input_.ways.begin(), input_.ways.end(), [](Way way) { return way == Way::elements; });
    if (!apart) std::fill(input_.ways.begin(), input_.ways.end(), by_way_ = Way::first);
    const std::uint64_t together = input_.sources.size() == 1 ? columns_ : 1;
    (void)cut_shared(input_.sources, input_.ways, {.multiple = together});
    (void)cut_shared(weights_, {&by_way_, 1});
  }
  // The passes before the one that sums: for bins that depend on the data, and for the length where rows need it.
  void look_at_the_data(Points& points, BinsFinders& finders) {
    bool count_them = job_.rows && !points_;
    std::vector<ArrayView> piece;
    ArrayView by;
    while (count_them || finders.wants_data()) {
      input_.keep_for_rewind();
      weights_.front()->keep_for_rewind();
      progress_.start("range", bytes_);
      std::uint64_t count = 0;
      while (points.next(piece, by)) {
        count += by.count;
        finders.add(piece);
      }
      finders.end_pass();
      if (count_them) points_ = ranks().sum("points", count);
      count_them = false;
      points.rewind();
    }
  }

  const HistogramJob& job_;
  Progress& progress_;
  HistogramInput input_;
  std::vector<std::unique_ptr<io::Source>> weights_;
  Way by_way_ = Way::first;
  std::size_t columns_ = 1;
  WeightedOptions options_;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> points_;
};

}  // namespace

WeightedResult run_weighted(const HistogramJob& job, const WeightedJob& weighted, std::span<const std::string> inputs,
                            Progress& progress) {
  return WeightedRun(job, weighted, inputs, progress)();
}

// The forms in which a weighted histogram is written.

namespace {

// The numbers of a row: totals as exact as they are, variances, density.
struct Quantity {
  std::string_view one;   // in tables and CSV
  std::string_view many;  // in JSON
  std::function<std::string(std::uint64_t row, std::uint64_t joint_bin)> text;
};

std::string total_text(const WeightedHistogram& h, std::uint64_t row, std::uint64_t slot, bool extra) {
  if (!is_float(h.weights_dtype())) {
    if (is_signed(h.weights_dtype())) {
      return fmt::to_string((extra ? h.signed_extra_totals(row) : h.signed_totals(row))[slot]);
    }
    return fmt::to_string((extra ? h.unsigned_extra_totals(row) : h.unsigned_totals(row))[slot]);
  }
  return json_number((extra ? h.extra_totals(row) : h.totals(row))[slot], Dtype::f64);
}

std::string bare(std::string text) {
  std::erase(text, '"');  // of "NaN" and infinities
  return text;
}

std::vector<Quantity> quantities(const WeightedHistogram& h, bool density) {
  std::vector<Quantity> result;
  result.push_back({"total", "totals", [&](auto row, auto joint_bin) { return total_text(h, row, joint_bin, false); }});
  if (!h.variances().empty()) {
    result.push_back({"variance", "variances",
                      [&](auto row, auto joint_bin) { return json_number(h.variances(row)[joint_bin], Dtype::f64); }});
  }
  if (density) {
    std::vector<std::vector<double>> of_rows;
    for (std::uint64_t row = 0; row < h.rows(); ++row) of_rows.push_back(h.density(row));
    result.push_back({"density", "density", [of_rows](auto row, auto joint_bin) {
                        return json_number(of_rows[row][joint_bin], Dtype::f64);
                      }});
  }
  return result;
}

std::vector<std::string_view> extra_names(const WeightedHistogram& h) {
  if (h.dimensions() > 1) return {"outside", "nan"};
  return {"below", "above", "nan"};
}

void write_weighted_json(const WeightedResult& result, bool density, const Sink& sink) {
  const WeightedHistogram& h = result.histogram;
  TextSink to(sink);
  to.add(fmt::format(R"({{"n":{},"dtype":"{}","weights":"{}","device":{},)", h.n(), to_string(h.dtype()),
                     to_string(h.weights_dtype()), json_string(result.device)));
  const auto of_rows = [&](const std::function<void(std::uint64_t)>& entry) {
    if (result.by_rows) to.list(h.rows(), entry);
    else entry(0);
  };
  const std::vector<std::string_view> names = extra_names(h);
  for (std::size_t i = 0; i < names.size(); ++i) {
    to.add(fmt::format(R"("{}":)", names[i]));
    of_rows([&](std::uint64_t row) { to.add(total_text(h, row, i, true)); });
    to.add(",");
  }
  to.add(R"("edges":)");
  const auto edges_of = [&](std::uint64_t d) {
    const std::vector<double> edges = h.edges(static_cast<unsigned>(d));
    to.list(edges.size(), [&](std::uint64_t i) { return json_number(edges[i], result.column_edge_dtypes[d]); });
  };
  if (h.dimensions() > 1) to.list(h.dimensions(), edges_of);
  else edges_of(0);
  for (const Quantity& each : quantities(h, density)) {
    to.add(fmt::format(R"(,"{}":)", each.many));
    of_rows([&](std::uint64_t row) { to.grid(h, [&](std::uint64_t joint_bin) { return each.text(row, joint_bin); }); });
  }
  to.add(fmt::format("{},{}}}\n", json_report(result.texts.front().second, result.source.notes),
                     json_seconds(result.seconds)));
  to.flush();
}

// Calls line(texts) with the names of the columns, then with the entries of each joint bin.
void each_line(const WeightedResult& result, bool density,
               const std::function<void(const std::vector<std::string>&)>& line) {
  const WeightedHistogram& h = result.histogram;
  const std::vector<Quantity> numbers = quantities(h, density);
  std::vector<std::vector<double>> edges;
  std::vector<std::string> texts;
  if (result.by_rows) texts.emplace_back("row");
  for (unsigned d = 0; d < h.dimensions(); ++d) {
    edges.push_back(h.edges(d));
    for (const std::string_view end : {"lo", "hi"}) {
      texts.push_back(h.dimensions() > 1 ? fmt::format("{}{}", end, d) : std::string(end));
    }
  }
  for (const Quantity& each : numbers) texts.emplace_back(each.one);
  line(texts);
  for (std::uint64_t row = 0; row < h.rows(); ++row) {
    for (std::uint64_t joint_bin = 0; joint_bin < h.totals(row).size(); ++joint_bin) {
      texts.clear();
      if (result.by_rows) texts.push_back(fmt::to_string(row));
      for (std::uint64_t stride = h.totals(row).size(), d = 0; d < edges.size(); ++d) {
        stride /= edges[d].size() - 1;
        const std::uint64_t bin = joint_bin / stride % (edges[d].size() - 1);
        for (const std::uint64_t end : {bin, bin + 1}) {
          texts.push_back(io::format_number(edges[d][end], result.column_edge_dtypes[d]));
        }
      }
      for (const Quantity& each : numbers) texts.push_back(bare(each.text(row, joint_bin)));
      line(texts);
    }
  }
}

void write_weighted_csv(const WeightedResult& result, bool density, const Sink& sink) {
  TextSink to(sink);
  each_line(result, density, [&](const auto& texts) { to.add(fmt::format("{}\n", fmt::join(texts, ","))); });
  to.flush();
}

void write_weighted_table(const WeightedResult& result, bool density, const Sink& sink) {
  const WeightedHistogram& h = result.histogram;
  TextSink to(sink);
  to.add(fmt::format("{}: {} of {} weighted by {} of {}\n", result.source.name, h.n(), to_string(h.dtype()),
                     to_string(h.weights_dtype()), result.weights));
  const std::vector<std::string_view> names = extra_names(h);
  for (std::uint64_t row = 0; row < h.rows(); ++row) {
    if (result.by_rows) to.add(fmt::format("row {}: ", row));
    for (std::size_t i = 0; i < names.size(); ++i) {
      to.add(fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i], bare(total_text(h, row, i, true))));
    }
    to.add("\n");
  }
  to.add("\n");
  std::vector<std::size_t> widths;
  each_line(result, density, [&](const auto& texts) {
    widths.resize(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) widths[i] = std::max(widths[i], texts[i].size());
  });
  each_line(result, density, [&](const auto& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      to.add(fmt::format("{}{:>{}}", i == 0 ? "" : "  ", texts[i], widths[i]));
    to.add("\n");
  });
  to.flush();
}

// The totals (or, as asked, the density), of shape (bins), (rows, bins), or that of the grid.
void write_weighted_npy(const WeightedResult& result, bool density, const Sink& sink) {
  const WeightedHistogram& h = result.histogram;
  std::vector<std::uint64_t> shape;
  if (result.by_rows) shape.push_back(h.rows());
  for (unsigned d = 0; d < h.dimensions(); ++d) shape.push_back(h.size(d));
  const bool exact = !density && !is_float(h.weights_dtype());
  const bool by_sign = is_signed(h.weights_dtype());
  sink(io::npy_header(!exact ? Dtype::f64 : by_sign ? Dtype::i64 : Dtype::u64, shape));
  const auto bytes = [&](const auto& values) {
    sink({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  for (std::uint64_t row = 0; row < h.rows(); ++row) {
    if (density) bytes(h.density(row));
    else if (!exact) bytes(h.totals(row));
    else if (by_sign) bytes(h.signed_totals(row));
    else bytes(h.unsigned_totals(row));
  }
}

struct WeightedForm {
  std::string_view name;
  void (*write)(const WeightedResult&, bool, const Sink&);
};
constexpr WeightedForm forms[] = {{"table", write_weighted_table},
                                  {"json", write_weighted_json},
                                  {"csv", write_weighted_csv},
                                  {"npy", write_weighted_npy}};

}  // namespace

void write_weighted(const WeightedResult& result, std::string_view format, bool density, const Sink& sink) {
  for (const WeightedForm& form : forms) {
    if (form.name == format) form.write(result, density, sink);
  }
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// The forms in which a weighted histogram is written.
#include "cli/histogram/histogram_job.h"

#include "cli/arrays/array_stream.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

namespace masu::cli {
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

}  // namespace

void write_weighted_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const WeightedHistogram& h = *result.weighted;
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
  for (const Quantity& each : quantities(h, options.density)) {
    to.add(fmt::format(R"(,"{}":)", each.many));
    of_rows([&](std::uint64_t row) { to.grid(h, [&](std::uint64_t joint_bin) { return each.text(row, joint_bin); }); });
  }
  to.add(fmt::format("{},{}}}\n", json_report(result.texts.front().second, result.source.notes),
                     json_seconds(result.seconds)));
  to.flush();
}

namespace {

// Calls line(texts) with the names of the columns, then with the entries of each joint bin.
void each_line(const HistogramResult& result, bool density,
               const std::function<void(const std::vector<std::string>&)>& line) {
  const WeightedHistogram& h = *result.weighted;
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

}  // namespace

void write_weighted_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  TextSink to(sink);
  each_line(result, options.density, [&](const auto& texts) { to.add(fmt::format("{}\n", fmt::join(texts, ","))); });
  to.flush();
}

void write_weighted_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const WeightedHistogram& h = *result.weighted;
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
  each_line(result, options.density, [&](const auto& texts) {
    widths.resize(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) widths[i] = std::max(widths[i], texts[i].size());
  });
  each_line(result, options.density, [&](const auto& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      to.add(fmt::format("{}{:>{}}", i == 0 ? "" : "  ", texts[i], widths[i]));
    to.add("\n");
  });
  to.flush();
}

// The shape is (bins), (rows, bins), or that of the grid.
void write_weighted_npy(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const WeightedHistogram& h = *result.weighted;
  std::vector<std::uint64_t> shape;
  if (result.by_rows) shape.push_back(h.rows());
  for (unsigned d = 0; d < h.dimensions(); ++d) shape.push_back(h.size(d));
  const bool exact = !options.density && !is_float(h.weights_dtype());
  const bool by_sign = is_signed(h.weights_dtype());
  sink(io::npy_header(!exact ? Dtype::f64 : by_sign ? Dtype::i64 : Dtype::u64, shape));
  const auto bytes = [&](const auto& values) {
    sink({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  for (std::uint64_t row = 0; row < h.rows(); ++row) {
    if (options.density) bytes(h.density(row));
    else if (!exact) bytes(h.totals(row));
    else if (by_sign) bytes(h.signed_totals(row));
    else bytes(h.unsigned_totals(row));
  }
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// The forms in which a weighted histogram is written.
#include "cli/histogram/histogram_weighted.h"
#include "json.h"

#include <fmt/format.h>
#include <algorithm>
#include <functional>

namespace masu::cli {
namespace {

// The numbers of a row: totals as exact as they are, variances, density.
struct Quantity {
  std::string_view one;   // in tables and CSV
  std::string_view many;  // in JSON
  std::function<std::string(std::uint64_t row, std::uint64_t cell)> text;
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
  result.push_back({"total", "totals", [&](auto row, auto cell) { return total_text(h, row, cell, false); }});
  if (!h.variances().empty()) {
    result.push_back({"variance", "variances",
                      [&](auto row, auto cell) { return json_number(h.variances(row)[cell], Dtype::f64); }});
  }
  if (density) {
    std::vector<std::vector<double>> of_rows;
    for (std::uint64_t row = 0; row < h.rows(); ++row) of_rows.push_back(h.density(row));
    result.push_back(
        {"density", "density", [of_rows](auto row, auto cell) { return json_number(of_rows[row][cell], Dtype::f64); }});
  }
  return result;
}

std::vector<std::string_view> extra_names(const WeightedHistogram& h) {
  if (h.dimensions() > 1) return {"outside", "nan"};
  return {"below", "above", "nan"};
}

// Lists in lists, one depth for each column.
void write_grid(const WeightedHistogram& h, unsigned column, std::uint64_t first,
                const std::function<std::string(std::uint64_t)>& entry, TextSink& to) {
  const std::uint64_t size = h.size(column);
  const auto part = [&](std::uint64_t i) {
    if (column + 1 == h.dimensions()) to.add(entry(first * size + i));
    else write_grid(h, column + 1, first * size + i, entry, to);
  };
  write_list(size, part, to);
}

void write_weighted_json(const WeightedResult& result, bool density, const Sink& sink) {
  const WeightedHistogram& h = result.histogram;
  TextSink to(sink);
  to.add(fmt::format(R"({{"n":{},"dtype":"{}","weights":"{}","device":{},)", h.n(), to_string(h.dtype()),
                     to_string(h.weights_dtype()), json_string(result.device)));
  const auto of_rows = [&](const std::function<void(std::uint64_t)>& entry) {
    if (result.by_rows) write_list(h.rows(), entry, to);
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
    write_list(
        edges.size(), [&](std::uint64_t i) { to.add(json_number(edges[i], result.column_edge_dtypes[d])); }, to);
  };
  if (h.dimensions() > 1) write_list(h.dimensions(), edges_of, to);
  else edges_of(0);
  for (const Quantity& each : quantities(h, density)) {
    to.add(fmt::format(R"(,"{}":)", each.many));
    of_rows([&](std::uint64_t row) {
      write_grid(
          h, 0, 0, [&](std::uint64_t cell) { return each.text(row, cell); }, to);
    });
  }
  to.add(fmt::format(",{}}}\n", json_seconds(result.seconds)));
  to.flush();
}

// Calls line(texts) with the names of the columns, then with the entries of each cell.
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
    for (std::uint64_t cell = 0; cell < h.totals(row).size(); ++cell) {
      texts.clear();
      if (result.by_rows) texts.push_back(fmt::to_string(row));
      for (std::uint64_t stride = h.totals(row).size(), d = 0; d < edges.size(); ++d) {
        stride /= edges[d].size() - 1;
        const std::uint64_t bin = cell / stride % (edges[d].size() - 1);
        for (const std::uint64_t end : {bin, bin + 1}) {
          texts.push_back(io::format_number(edges[d][end], result.column_edge_dtypes[d]));
        }
      }
      for (const Quantity& each : numbers) texts.push_back(bare(each.text(row, cell)));
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

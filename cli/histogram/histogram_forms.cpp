// SPDX-License-Identifier: Apache-2.0
// The forms in which a histogram of any shape is written, but for the charts.
#include "cli/histogram/histogram_job.h"

#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

namespace masu::cli {
namespace {

// The bins of a column.
struct BinEdges {
  std::uint64_t bins = 0;
  std::function<double(std::uint64_t)> edge;
  Dtype dtype = Dtype::f64;  // in which the edges are printed
  const io::ValueNames* names = nullptr;
  [[nodiscard]] std::string text(std::uint64_t i) const {
    if (names != nullptr) return (*names)(static_cast<std::int64_t>(std::floor(edge(i))));
    return io::format_number(edge(i), dtype);
  }
};

std::vector<BinEdges> columns_of(const HistogramResult& result) {
  std::vector<BinEdges> columns;
  const auto add = [&](const auto& histogram) {
    for (unsigned d = 0; d < histogram.dimensions(); ++d) {
      const auto edge = [edges = histogram.edges(d)](std::uint64_t i) { return edges[i]; };
      columns.push_back({histogram.size(d), edge, result.column_edge_dtypes[d]});
    }
  };
  if (result.weighted) add(*result.weighted);
  else if (result.joint) add(*result.joint);
  else {
    columns.push_back({result.first().size(), [&](auto i) { return result.first().edge(i); }, result.edge_dtype,
                       result.source.names.get()});
  }
  return columns;
}

// Numbers as texts, in the shortest form that reads back.

// What lies in no bin of a row.
struct Beside {
  std::string_view name;
  std::function<std::string(std::uint64_t row)> text;
};

// A number of each joint bin of a row. The bins of a row are asked for in their order.
struct Quantity {
  std::string_view one;   // in tables and CSV
  std::string_view many;  // in JSON
  std::function<std::string(std::uint64_t row, std::uint64_t joint_bin)> text;
};

// Totals are as exact as they are.
std::string total_text(const WeightedHistogram& h, std::uint64_t row, std::uint64_t slot, bool extra) {
  if (is_float(h.weights_dtype())) return io::format_number((extra ? h.extra_totals(row) : h.totals(row))[slot]);
  if (is_signed(h.weights_dtype())) {
    return fmt::to_string((extra ? h.signed_extra_totals(row) : h.signed_totals(row))[slot]);
  }
  return fmt::to_string((extra ? h.unsigned_extra_totals(row) : h.unsigned_totals(row))[slot]);
}

// One row and channel of counts.
Histogram histogram_of(const HistogramResult& result, std::uint64_t row, unsigned channel) {
  return result.rows ? result.rows->histogram(row, channel) : result.channels[channel];
}

std::vector<Beside> beside_bins(const HistogramResult& result, unsigned channel, bool otsu = false) {
  const bool outside = result.joint || (result.weighted && result.weighted->dimensions() > 1);
  std::vector<std::string_view> names{"below", "above", "nan"};
  if (outside) names = {"outside", "nan"};
  std::vector<Beside> list;
  for (const std::string_view name : names) {
    if (result.weighted) {
      list.push_back(
          {name, [&, slot = list.size()](auto row) { return total_text(*result.weighted, row, slot, true); }});
      continue;
    }
    std::uint64_t HistogramResult::Block::*const count = name == "above" ? &HistogramResult::Block::above
                                                         : name == "nan" ? &HistogramResult::Block::nan
                                                                         : &HistogramResult::Block::below;
    list.push_back({name, [&, channel, count](auto row) { return fmt::to_string(result.block(row, channel).*count); }});
  }
  if (otsu) {
    list.push_back({"otsu", [&, channel](auto row) { return otsu_text(histogram_of(result, row, channel)); }});
  }
  return list;
}

std::vector<Quantity> quantities(const HistogramResult& result, const WriteOptions& options, unsigned channel) {
  std::vector<Quantity> list;
  const auto count = [&result, channel](auto row, auto bin) { return result.block(row, channel).counts[bin]; };
  if (!result.weighted) {
    list.push_back({"count", "counts", [count](auto row, auto bin) { return fmt::to_string(count(row, bin)); }});
  } else {
    const WeightedHistogram& h = *result.weighted;
    list.push_back({"total", "totals", [&](auto row, auto bin) { return total_text(h, row, bin, false); }});
    const auto variance = [&](auto row, auto bin) { return io::format_number(h.variances(row)[bin]); };
    if (!h.variances().empty()) list.push_back({"variance", "variances", variance});
  }
  if (options.density) {
    list.push_back({"density", "density", [&result, channel, all = std::vector<double>()](auto row, auto bin) mutable {
                      if (bin == 0) all = result.density(row, channel);
                      return io::format_number(all[bin]);
                    }});
  }
  if (options.cumulative) {
    list.push_back({"cumulative", "cumulative", [count, sum = std::uint64_t{0}](auto row, auto bin) mutable {
                      sum = (bin == 0 ? 0 : sum) + count(row, bin);
                      return fmt::to_string(sum);
                    }});
  }
  if (options.percent) {
    list.push_back({"percent", "percent", [&result, channel, n = 0.0](auto row, auto bin) mutable {
                      const HistogramResult::Block block = result.block(row, channel);
                      if (bin == 0) n = static_cast<double>(block.n());
                      return io::format_number(100 * static_cast<double>(block.counts[bin]) / n);
                    }});
  }
  if (options.equalize) {
    list.push_back(
        {"level", "levels", [&result, channel, map = std::vector<std::uint16_t>()](auto row, auto bin) mutable {
           if (bin == 0) map = levels_of(histogram_of(result, row, channel));
           return fmt::to_string(map[bin]);
         }});
  }
  return list;
}

// Such a text in tables and CSV.
std::string shown(const HistogramResult& result, std::string text) {
  return result.weighted ? bare(json_of_text(std::move(text))) : text;
}

// Calls line(texts) with the names of the columns, where these are asked for, and with those of each joint bin, the
// bins of the last column next to each other.
template <class Line>
void each_line(const HistogramResult& result, const WriteOptions& options, const Line& line) {
  const std::vector<BinEdges> columns = columns_of(result);
  // The lines of all inputs of a call agree: several inputs may have different channels.
  const bool grouped = !result.groups.empty();
  const bool with_channel = !result.joint && !grouped && (result.channel_count() > 1 || options.several);
  const bool numbered = result.joint || columns.size() > 1;
  std::vector<std::string> texts;
  if (options.several) texts.emplace_back("input");
  if (result.by_rows) texts.emplace_back("row");
  if (with_channel) texts.emplace_back("channel");
  for (const std::string& name : result.group_names) texts.push_back(csv_field(name));
  for (std::size_t d = 0; d < columns.size(); ++d) {
    for (const char* end : {"lo", "hi"}) texts.push_back(numbered ? fmt::format("{}{}", end, d) : end);
  }
  for (const Quantity& each : quantities(result, options, 0)) texts.emplace_back(each.one);
  if (options.first) line(texts);
  std::uint64_t joint_bins = 1;
  for (const BinEdges& each : columns) joint_bins *= each.bins;
  std::vector<std::pair<std::uint64_t, std::string>> ends(columns.size(), {~std::uint64_t{0}, ""});  // the last texts
  const auto edge_text = [&](std::size_t d, std::uint64_t i) -> const std::string& {
    if (ends[d].first != i) ends[d] = {i, columns[d].text(i)};
    return ends[d].second;
  };
  for (std::uint64_t row = 0; row < result.row_count(); ++row) {
    for (unsigned channel = 0; channel < result.channel_count(); ++channel) {
      const std::vector<Quantity> numbers = quantities(result, options, channel);
      for (std::uint64_t joint_bin = 0; joint_bin < joint_bins; ++joint_bin) {
        texts.clear();
        if (options.several) texts.push_back(csv_field(result.source.name));
        if (result.by_rows) texts.push_back(fmt::to_string(row));
        if (with_channel) texts.push_back(result.names.empty() ? "" : csv_field(result.names[channel]));
        for (std::size_t i = 0; i < result.group_names.size(); ++i)
          texts.push_back(csv_field(result.groups[channel][i]));
        for (std::uint64_t stride = joint_bins, d = 0; d < columns.size(); ++d) {
          stride /= columns[d].bins;
          const std::uint64_t bin = joint_bin / stride % columns[d].bins;
          for (const std::uint64_t end : {bin, bin + 1}) texts.push_back(edge_text(d, end));
        }
        for (const Quantity& each : numbers) texts.push_back(shown(result, each.text(row, joint_bin)));
        line(texts);
      }
    }
  }
}

// The entries of joint bins as lists in lists, one depth for each column.
template <class Entry>
void write_grid(std::span<const BinEdges> columns, const Entry& entry, TextSink& to, std::uint64_t first = 0) {
  to.list(columns.front().bins, [&](std::uint64_t i) {
    const std::uint64_t joint_bin = first * columns.front().bins + i;
    if (columns.size() == 1) to.add(entry(joint_bin));
    else write_grid(columns.subspan(1), entry, to, joint_bin);
  });
}

std::string json_name(const std::string& name) {
  return fmt::format(R"("name":{},)", json_string(name));
}
std::string json_group(const HistogramResult& result, std::uint64_t group) {
  std::string members;
  for (std::size_t i = 0; i < result.group_names.size(); ++i) {
    members += fmt::format("{}{}:{}", i == 0 ? "" : ",", json_string(result.group_names[i]),
                           json_string(result.groups[group][i]));
  }
  return fmt::format(R"("group":{{{}}},)", members);
}

void write_named_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink, char separator) {
  const NamedBars bars = named_bars(result, options.limit);
  const std::string input = options.several ? csv_field(result.source.name) + separator : "";
  if (options.first) {
    sink(fmt::format("{}value{}count{}\n", options.several ? std::string("input") + separator : "", separator,
                     options.percent ? separator + std::string("percent") : ""));
  }
  for (std::size_t i = 0; i < bars.texts.size(); ++i) {
    const std::string share =
        options.percent ? separator + io::format_number(bars.percent(bars.counts[i])) : std::string();
    sink(fmt::format("{}{}{}{}{}\n", input, csv_field(bars.texts[i]), separator, bars.counts[i], share));
  }
}

void write_named_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const NamedBars bars = named_bars(result, options.limit);
  TextSink to(sink);
  to.add("{");
  if (options.several) to.add(fmt::format(R"("input":{},)", json_string(result.source.name)));
  to.add(fmt::format(R"("n":{},"dtype":"text","device":{},"strategy":"{}","values":)", result.n(),
                     json_string(result.device), to_string(result.strategy())));
  to.list(bars.texts.size(), [&](std::uint64_t i) { to.add(json_string(bars.texts[i])); });
  to.add(R"(,"counts":)");
  to.list(bars.counts.size(), [&](std::uint64_t i) { to.add(fmt::to_string(bars.counts[i])); });
  if (options.percent) {
    to.add(R"(,"percent":)");
    to.list(bars.counts.size(), [&](std::uint64_t i) { to.add(io::format_number(bars.percent(bars.counts[i]))); });
  }
  to.add(fmt::format(R"(,"other":{},"distinct":{}{},{}}})", bars.other, bars.distinct,
                     json_report(result.texts.front().second, result.source.notes), json_seconds(result.seconds)));
  to.add("\n");
  to.flush();
}

void write_separated(const HistogramResult& result, const WriteOptions& options, const Sink& sink,
                     std::string_view between) {
  if (has_texts(result)) return write_named_csv(result, options, sink, between.front());
  TextSink to(sink);
  each_line(result, options, [&](const auto& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) to.add(between);
      to.add(texts[i]);
    }
    to.add("\n");
  });
  to.flush();
}

}  // namespace

void write_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  write_separated(result, options, sink, ",");
}

void write_tsv(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  write_separated(result, options, sink, "\t");
}

void write_weighted_table(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const WeightedHistogram& h = *result.weighted;
  TextSink to(sink);
  to.add(fmt::format("{}: {} of {} weighted by {} of {}\n", result.source.name, h.n(), to_string(h.dtype()),
                     to_string(h.weights_dtype()), result.weights));
  for (std::uint64_t row = 0; row < h.rows(); ++row) {
    if (result.by_rows) to.add(fmt::format("row {}: ", row));
    const char* between = "";
    for (const Beside& each : beside_bins(result, 0)) {
      to.add(fmt::format("{}{} {}", between, each.name, shown(result, each.text(row))));
      between = ", ";
    }
    to.add("\n");
  }
  to.add("\n");
  std::vector<std::size_t> widths;
  each_line(result, options, [&](const auto& texts) {
    widths.resize(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) widths[i] = std::max(widths[i], texts[i].size());
  });
  each_line(result, options, [&](const auto& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i)
      to.add(fmt::format("{}{:>{}}", i == 0 ? "" : "  ", texts[i], widths[i]));
    to.add("\n");
  });
  to.flush();
}

void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  if (has_texts(result)) return write_named_json(result, options, sink);
  TextSink to(sink);
  const std::vector<BinEdges> columns = columns_of(result);
  const auto of_rows = [&](std::string_view name, const auto& entry) {
    to.add(fmt::format(R"("{}":)", name));
    if (result.by_rows) to.list(result.row_count(), entry);
    else entry(0);
  };
  const auto write_beside = [&](unsigned channel) {
    for (const Beside& each : beside_bins(result, channel, options.otsu)) {
      of_rows(each.name, [&](std::uint64_t row) { to.add(json_of_text(each.text(row))); });
      to.add(",");
    }
  };
  const auto write_quantities = [&](unsigned channel) {
    const char* between = "";
    for (const Quantity& each : quantities(result, options, channel)) {
      to.add(between);
      of_rows(each.many, [&](std::uint64_t row) {
        write_grid(
            columns, [&](std::uint64_t bin) { return json_of_text(each.text(row, bin)); }, to);
      });
      between = ",";
    }
  };
  const auto write_edges = [&](std::uint64_t d) {
    to.list(columns[d].bins + 1, [&](std::uint64_t i) {
      if (columns[d].names != nullptr) return json_string(columns[d].text(i));
      return json_number(columns[d].edge(i), columns[d].dtype);
    });
  };
  to.add("{");
  if (options.several) to.add(fmt::format(R"("input":{},)", json_string(result.source.name)));
  to.add(fmt::format(R"("n":{},"dtype":"{}",)", result.n(), type_name(result.source)));
  if (result.weighted) to.add(fmt::format(R"("weights":"{}",)", to_string(result.weighted->weights_dtype())));
  to.add(fmt::format(R"("device":{},)", json_string(result.device)));
  if (!result.weighted) to.add(fmt::format(R"("strategy":"{}",)", to_string(result.strategy())));
  const bool grouped = !result.groups.empty();
  const bool several = result.channel_count() > 1 || grouped;
  if (!several) write_beside(0);
  to.add(R"("edges":)");
  if (result.joint || columns.size() > 1) to.list(columns.size(), write_edges);
  else write_edges(0);
  to.add(",");
  if (!several) {
    write_quantities(0);
  } else {
    to.add(grouped ? R"("groups":)" : R"("channels":)");
    to.list(result.channel_count(), [&](std::uint64_t i) {
      const auto channel = static_cast<unsigned>(i);
      std::uint64_t n = 0;
      for (std::uint64_t row = 0; row < result.row_count(); ++row) n += result.block(row, channel).n();
      to.add(fmt::format(R"({{{}"n":{},)", grouped ? json_group(result, i) : json_name(result.names[i]), n));
      write_beside(channel);
      write_quantities(channel);
      to.add("}");
    });
  }
  to.add(fmt::format("{},{}}}\n", json_report(result.texts.front().second, result.source.notes),
                     json_seconds(result.seconds)));
  to.flush();
}

// A histogram of scikit-hep's UHI (schema 1) for each row and channel, by name. A NaN has no bin there, so metadata
// have their number; of points, and beside variances, also that of what lies in no bin.
void write_uhi(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  if (has_texts(result)) usage_error("--format uhi has bins of numbers, {} has texts", result.source.name);
  TextSink to(sink);
  const std::vector<BinEdges> columns = columns_of(result);
  const bool numbered = result.joint || columns.size() > 1;
  const bool variances = result.weighted && !result.weighted->variances().empty();
  const bool flow = !numbered && !variances;
  // Numbers are bare: Python, like others, reads NaN and Infinity without quotes.
  to.add("{");
  const char* between = "";
  std::set<std::string> keys;
  for (std::uint64_t row = 0; row < result.row_count(); ++row) {
    for (unsigned channel = 0; channel < result.channel_count(); ++channel) {
      const bool named = result.channel_count() > 1 && channel < result.names.size();
      std::string name = result.by_rows ? fmt::format("row {}", row) : "";
      if (named) name += (name.empty() ? "" : " ") + result.names[channel];
      if (name.empty()) name = "histogram";
      // Readers keep the last of equal keys. Groups by several columns may have one name.
      auto key = keys.insert(json_string(name));
      for (int i = 2; !key.second; ++i) key = keys.insert(json_string(fmt::format("{} ({})", name, i)));
      to.add(
          fmt::format(R"({}{}:{{"uhi_schema":1,"writer_info":{{"masu":{{"version":"{}"}}}},"metadata":{{"source":{})",
                      between, *key.first, version(), json_string(result.source.name)));
      between = ",";
      const std::vector<Beside> beside = beside_bins(result, channel);
      for (const Beside& each : beside) {
        if (!flow || each.name == "nan")
          to.add(fmt::format(R"(,"{}":{})", each.name, bare(json_of_text(each.text(row)))));
      }
      to.add(R"(},"axes":[)");
      for (std::size_t d = 0; d < columns.size(); ++d) {
        to.add(d == 0 ? R"({"type":"variable","edges":)" : R"(,{"type":"variable","edges":)");
        to.list(columns[d].bins + 1,
                [&](std::uint64_t i) { to.add(bare(json_number(columns[d].edge(i), columns[d].dtype))); });
        to.add(fmt::format(R"(,"underflow":{0},"overflow":{0},"circular":false)", flow));
        if (numbered)
          to.add(
              fmt::format(R"(,"metadata":{{"label":{}}})", json_string(result.column_name(static_cast<unsigned>(d)))));
        to.add("}");
      }
      to.add(fmt::format(R"(],"storage":{{"type":"{}")", variances ? "weighted" : result.weighted ? "double" : "int"));
      WriteOptions plain = options;
      plain.density = plain.cumulative = false;
      for (const Quantity& each : quantities(result, plain, channel)) {
        const auto entry = [&](std::uint64_t bin) { return bare(json_of_text(each.text(row, bin))); };
        to.add(each.one == "variance" ? R"(,"variances":)" : R"(,"values":)");
        if (!flow) {
          write_grid(columns, entry, to);
          continue;
        }
        const std::uint64_t bins = columns.front().bins;
        to.list(bins + 2, [&](std::uint64_t i) {
          if (i == 0 || i > bins) to.add(bare(json_of_text(beside[i == 0 ? 0 : 1].text(row))));
          else to.add(entry(i - 1));
        });
      }
      to.add("}}");
    }
  }
  to.add("}\n");
  to.flush();
}

void write_npy(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  if (has_texts(result)) usage_error("--format npy and raw have counts of bins, {} has texts", result.source.name);
  std::vector<std::uint64_t> shape;
  if (result.by_rows) shape.push_back(result.row_count());
  if (result.channel_count() > 1 || !result.groups.empty()) shape.push_back(result.channel_count());
  for (const BinEdges& each : columns_of(result)) shape.push_back(each.bins);
  const Dtype weights = result.weighted ? result.weighted->weights_dtype() : Dtype::u64;
  sink(io::npy_header(options.density || is_float(weights) ? Dtype::f64
                      : is_signed(weights)                 ? Dtype::i64
                                                           : Dtype::u64,
                      shape));
  write_raw(result, options, sink);
}

void write_png(const HistogramResult& result, const WriteOptions& /*options*/, const Sink& sink) {
  sink(io::png_of(*result.picture));
}

void write_pnm(const HistogramResult& result, const WriteOptions& /*options*/, const Sink& sink) {
  sink(io::pnm_of(*result.picture));
}

void write_raw(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  const Dtype weights = result.weighted ? result.weighted->weights_dtype() : Dtype::u64;
  const auto bytes = [&](const auto& values) {
    sink({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  for (std::uint64_t row = 0; row < result.row_count(); ++row) {
    for (unsigned channel = 0; channel < result.channel_count(); ++channel) {
      if (options.density) {
        bytes(result.density(row, channel));
      } else if (result.weighted) {
        if (is_float(weights)) bytes(result.weighted->totals(row));
        else if (is_signed(weights)) bytes(result.weighted->signed_totals(row));
        else bytes(result.weighted->unsigned_totals(row));
      } else if (options.cumulative) {
        const auto counts = result.block(row, channel).counts;
        std::vector<std::uint64_t> sums(counts.size());
        std::partial_sum(counts.begin(), counts.end(), sums.begin());
        bytes(sums);
      } else {
        bytes(result.block(row, channel).counts);
      }
    }
  }
}

}  // namespace masu::cli

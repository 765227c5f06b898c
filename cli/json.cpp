// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include "cli/histogram/histogram_result.h"

#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

namespace masu::cli {
namespace {

void write_counts(std::span<const std::uint64_t> counts, TextSink& to) {
  write_list(
      counts.size(), [&](std::uint64_t i) { to.add(fmt::to_string(counts[i])); }, to);
}

void write_cumulative(std::span<const std::uint64_t> counts, TextSink& to) {
  std::uint64_t sum = 0;
  write_list(
      counts.size(), [&](std::uint64_t i) { to.add(fmt::to_string(sum += counts[i])); }, to);
}

void write_density(const std::vector<double>& density, TextSink& to) {
  write_list(
      density.size(), [&](std::uint64_t i) { to.add(json_number(density[i])); }, to);
}

// One entry, or with rows a list of an entry for each.
template <class Entry>
void write_rows(const HistogramResult& result, const Entry& entry, TextSink& to) {
  if (result.rows) write_list(result.row_count(), entry, to);
  else entry(0);
}

void write_outsiders(const HistogramResult& result, unsigned channel, TextSink& to) {
  const auto of_rows = [&](std::string_view name, auto member) {
    to.add(fmt::format(R"("{}":)", name));
    write_rows(
        result, [&](std::uint64_t row) { to.add(fmt::to_string(result.block(row, channel).*member)); }, to);
  };
  of_rows("below", &HistogramResult::Block::below);
  to.add(",");
  of_rows("above", &HistogramResult::Block::above);
  to.add(",");
  of_rows("nan", &HistogramResult::Block::nan);
}

// "counts" of a channel, and what was asked for beside them.
void write_channel_counts(const HistogramResult& result, unsigned channel, const WriteOptions& options, TextSink& to) {
  to.add(R"("counts":)");
  write_rows(
      result, [&](std::uint64_t row) { write_counts(result.block(row, channel).counts, to); }, to);
  if (options.density) {
    to.add(R"(,"density":)");
    write_rows(
        result, [&](std::uint64_t row) { write_density(result.density(row, channel), to); }, to);
  }
  if (options.cumulative) {
    to.add(R"(,"cumulative":)");
    write_rows(
        result, [&](std::uint64_t row) { write_cumulative(result.block(row, channel).counts, to); }, to);
  }
}

void write_channels(const HistogramResult& result, const WriteOptions& options, TextSink& to) {
  const Histogram& first = result.first();
  const bool several = result.channel_count() > 1;
  if (!several) {
    write_outsiders(result, 0, to);
    to.add(",");
  }
  to.add(R"("edges":)");
  write_list(
      first.size() + 1, [&](std::uint64_t i) { to.add(json_number(first.edge(i), result.edge_dtype)); }, to);
  to.add(",");
  if (!several) {
    write_channel_counts(result, 0, options, to);
    return;
  }
  to.add(R"("channels":)");
  const auto channel = [&](std::uint64_t i) {
    const auto c = static_cast<unsigned>(i);
    std::uint64_t n = 0;
    for (std::uint64_t row = 0; row < result.row_count(); ++row) n += result.block(row, c).n();
    to.add(fmt::format(R"({{"name":{},"n":{},)", json_string(result.names[i]), n));
    write_outsiders(result, c, to);
    to.add(",");
    write_channel_counts(result, c, options, to);
    to.add("}");
  };
  write_list(result.channel_count(), channel, to);
}

// The entries of a grid as lists in lists, one depth for each column from `column` on.
template <class Entry>
void write_grid(const JointHistogram& joint, unsigned column, std::uint64_t first, const Entry& entry, TextSink& to) {
  const std::uint64_t size = joint.size(column);
  const bool last = column + 1 == joint.dimensions();
  const auto part = [&](std::uint64_t i) {
    const std::uint64_t cell = first * size + i;
    if (last) to.add(entry(cell));
    else write_grid(joint, column + 1, cell, entry, to);
  };
  write_list(size, part, to);
}

void write_joint(const HistogramResult& result, const WriteOptions& options, TextSink& to) {
  const JointHistogram& joint = *result.joint;
  to.add(fmt::format(R"("outside":{},"nan":{},"edges":)", joint.outside(), joint.nan()));
  const auto edges_of = [&](std::uint64_t d) {
    const std::vector<double> edges = joint.edges(static_cast<unsigned>(d));
    write_list(
        edges.size(), [&](std::uint64_t i) { to.add(json_number(edges[i], result.column_edge_dtypes[d])); }, to);
  };
  write_list(joint.dimensions(), edges_of, to);
  to.add(R"(,"counts":)");
  write_grid(
      joint, 0, 0, [&](std::uint64_t cell) { return fmt::to_string(joint.counts()[cell]); }, to);
  if (!options.density) return;
  const std::vector<double> density = joint.density();
  to.add(R"(,"density":)");
  write_grid(
      joint, 0, 0, [&](std::uint64_t cell) { return json_number(density[cell]); }, to);
}

}  // namespace

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value, Dtype dtype) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return io::format_number(value, dtype);
}

void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  TextSink to(sink);
  to.add("{");
  if (options.several) to.add(fmt::format(R"("input":{},)", json_string(result.source.name)));
  to.add(fmt::format(R"("n":{},"dtype":"{}","device":{},"strategy":"{}",)", result.n(), to_string(result.source.dtype),
                     json_string(result.device), to_string(result.strategy())));
  if (result.joint) write_joint(result, options, to);
  else write_channels(result, options, to);
  if (result.bad_lines > 0) to.add(fmt::format(R"(,"bad_lines":{})", result.bad_lines));
  to.add(fmt::format(",{}}}\n", json_seconds(result.seconds)));
  to.flush();
}

}  // namespace masu::cli

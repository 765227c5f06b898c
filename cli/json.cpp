// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include "histogram_result.h"

#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

namespace masu::cli {
namespace {

// Arrays may have 2^31 entries: they are written as they are made, never held as a document.
template <class Entry>
void write_array(std::uint64_t count, const Entry& entry, const Sink& sink) {
  std::string text = "[";
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    text += entry(i);
    if (text.size() > 1 << 16) {
      sink(text);
      text.clear();
    }
  }
  sink(text + "]");
}

void write_counts(const Histogram& histogram, const Sink& sink) {
  write_array(
      histogram.size(), [&](std::uint64_t i) { return fmt::to_string(histogram.counts()[i]); }, sink);
}

std::string outsiders(const Histogram& histogram) {
  return fmt::format(R"("below":{},"above":{},"nan":{})", histogram.below(), histogram.above(), histogram.nan());
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
  const Histogram& first = result.channels.front();
  const bool several = result.channels.size() > 1;
  std::uint64_t n = 0;
  for (const Histogram& histogram : result.channels) n += histogram.n();

  sink("{");
  if (options.several) sink(fmt::format(R"("input":{},)", json_string(result.source.name)));
  sink(fmt::format(R"("n":{},"dtype":"{}","device":{},"strategy":"{}",)", n, to_string(first.dtype()),
                   json_string(result.device), to_string(first.strategy())));
  if (!several) sink(outsiders(first) + ",");
  sink("\"edges\":");
  write_array(
      first.size() + 1, [&](std::uint64_t i) { return json_number(first.edge(i), result.edge_dtype); }, sink);
  if (several) {
    sink(",\"channels\":[");
    for (std::size_t i = 0; i < result.channels.size(); ++i) {
      const Histogram& histogram = result.channels[i];
      sink(fmt::format(R"({}{{"name":{},"n":{},{},"counts":)", i > 0 ? "," : "", json_string(result.names[i]),
                       histogram.n(), outsiders(histogram)));
      write_counts(histogram, sink);
      sink("}");
    }
    sink("]");
  } else {
    sink(",\"counts\":");
    write_counts(first, sink);
  }
  if (result.bad_lines > 0) sink(fmt::format(R"(,"bad_lines":{})", result.bad_lines));
  const Seconds& seconds = result.seconds;
  sink(fmt::format(R"(,"seconds":{{"read":{},"transfer":{},"compute":{},"total":{}}}}})", json_number(seconds.read),
                   json_number(seconds.transfer), json_number(seconds.compute), json_number(seconds.total)));
  sink("\n");
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "histogram_result.h"

#include <fmt/format.h>
#include <string>

namespace masu::cli {
namespace {

// A field as RFC 4180 has it.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

void write_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  // The columns of all inputs of a call agree: several inputs may have different channels.
  const bool with_channel = result.channels.size() > 1 || options.several;
  if (options.first) {
    sink(fmt::format("{}{}lo,hi,count\n", options.several ? "input," : "", with_channel ? "channel," : ""));
  }
  const std::string input = options.several ? field(result.source.name) + "," : "";
  std::string text;
  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    const Histogram& histogram = result.channels[c];
    std::string prefix = input;
    if (with_channel) prefix.append(result.names.empty() ? "" : field(result.names[c])).append(",");
    std::string lo = io::format_number(histogram.edge(0), result.edge_dtype);
    for (std::uint64_t i = 0; i < histogram.size(); ++i) {
      std::string hi = io::format_number(histogram.edge(i + 1), result.edge_dtype);
      text += fmt::format("{}{},{},{}\n", prefix, lo, hi, histogram.counts()[i]);
      lo = std::move(hi);
      if (text.size() > 1 << 16) {
        sink(text);
        text.clear();
      }
    }
  }
  sink(text);
}

void write_npy(const HistogramResult& result, const WriteOptions&, const Sink& sink) {
  std::vector<std::uint64_t> shape;
  if (result.channels.size() > 1) shape.push_back(result.channels.size());
  shape.push_back(result.channels.front().size());
  sink(io::npy_header(Dtype::u64, shape));
  for (const Histogram& histogram : result.channels) {
    sink({reinterpret_cast<const char*>(histogram.counts().data()), histogram.counts().size_bytes()});
  }
}

}  // namespace masu::cli

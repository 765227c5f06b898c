// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_result.h"

#include <fmt/format.h>
#include <numeric>

namespace masu::cli {

std::uint64_t HistogramResult::Block::n() const {
  return std::accumulate(counts.begin(), counts.end(), below + above + nan);
}

unsigned HistogramResult::channel_count() const {
  return rows ? rows->channels() : static_cast<unsigned>(channels.size());
}

HistogramResult::Block HistogramResult::block(std::uint64_t row, unsigned channel) const {
  if (rows) {
    return {rows->counts(row, channel), rows->below(row, channel), rows->above(row, channel), rows->nan(row, channel)};
  }
  const Histogram& histogram = channels[channel];
  return {histogram.counts(), histogram.below(), histogram.above(), histogram.nan()};
}

std::vector<double> HistogramResult::density(std::uint64_t row, unsigned channel) const {
  return rows ? rows->histogram(row, channel).density() : channels[channel].density();
}

std::string HistogramResult::column_name(unsigned d) const {
  const std::string name = d < names.size() ? names[d] : std::to_string(d);
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  return number ? "column " + name : name;
}

std::uint64_t HistogramResult::n() const {
  if (joint) return joint->n();
  std::uint64_t sum = 0;
  for (std::uint64_t row = 0; row < row_count(); ++row) {
    for (unsigned channel = 0; channel < channel_count(); ++channel) sum += block(row, channel).n();
  }
  return sum;
}

std::uint64_t HistogramResult::outsiders() const {
  if (joint) return joint->outside() + joint->nan();
  std::uint64_t sum = 0;
  for (std::uint64_t row = 0; row < row_count(); ++row) {
    for (unsigned channel = 0; channel < channel_count(); ++channel) {
      const Block counted = block(row, channel);
      sum += counted.below + counted.above + counted.nan;
    }
  }
  return sum;
}

Strategy HistogramResult::strategy() const {
  return joint ? joint->strategy() : rows ? rows->strategy() : channels.front().strategy();
}

namespace {

// A field as RFC 4180 has it.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// The lines of one histogram, each behind `prefix`.
void write_histogram(const HistogramResult& result, std::uint64_t row, unsigned channel, const WriteOptions& options,
                     const std::string& prefix, TextSink& to) {
  const Histogram& bins = result.first();
  const auto counts = result.block(row, channel).counts;
  const std::vector<double> density = options.density ? result.density(row, channel) : std::vector<double>();
  std::uint64_t sum = 0;
  std::string lo = io::format_number(bins.edge(0), result.edge_dtype);
  for (std::uint64_t i = 0; i < counts.size(); ++i) {
    std::string hi = io::format_number(bins.edge(i + 1), result.edge_dtype);
    sum += counts[i];
    to.add(fmt::format("{}{},{},{}", prefix, lo, hi, counts[i]));
    if (options.density) to.add(fmt::format(",{}", io::format_number(density[i])));
    if (options.cumulative) to.add(fmt::format(",{}", sum));
    to.add("\n");
    lo = std::move(hi);
  }
}

// A line for each joint bin, the last column's bins next to each other.
void write_joint(const HistogramResult& result, const WriteOptions& options, const std::string& input, TextSink& to) {
  const JointHistogram& joint = *result.joint;
  std::vector<std::vector<double>> edges;
  std::vector<std::uint64_t> bin(joint.dimensions());
  for (unsigned d = 0; d < joint.dimensions(); ++d) edges.push_back(joint.edges(d));
  const std::vector<double> density = options.density ? joint.density() : std::vector<double>();
  for (std::uint64_t joint_bin = 0; joint_bin < joint.counts().size(); ++joint_bin) {
    to.add(input);
    for (std::size_t d = 0; d < edges.size(); ++d) {
      const Dtype dtype = result.column_edge_dtypes[d];
      to.add(fmt::format("{},{},", io::format_number(edges[d][bin[d]], dtype),
                         io::format_number(edges[d][bin[d] + 1], dtype)));
    }
    to.add(fmt::to_string(joint.counts()[joint_bin]));
    if (options.density) to.add(fmt::format(",{}", io::format_number(density[joint_bin])));
    to.add("\n");
    for (std::size_t d = edges.size(); d-- > 0;) {
      if (++bin[d] + 1 < edges[d].size()) break;
      bin[d] = 0;
    }
  }
}

std::string csv_header(const HistogramResult& result, const WriteOptions& options, bool with_channel) {
  std::string text = options.several ? "input," : "";
  if (result.rows) text += "row,";
  if (with_channel) text += "channel,";
  for (unsigned d = 0; result.joint && d < result.joint->dimensions(); ++d) text += fmt::format("lo{0},hi{0},", d);
  text += result.joint ? "count" : "lo,hi,count";
  if (options.density) text += ",density";
  if (options.cumulative) text += ",cumulative";
  return text + "\n";
}

// A joint histogram has no channels.
bool has_channels(const HistogramResult& result, const WriteOptions& options) {
  return !result.joint && (result.channel_count() > 1 || options.several);
}

}  // namespace

void write_csv(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  // The columns of all inputs of a call agree: several inputs may have different channels.
  const bool with_channel = has_channels(result, options);
  TextSink to(sink);
  if (options.first) to.add(csv_header(result, options, with_channel));
  const std::string input = options.several ? field(result.source.name) + "," : "";
  if (result.joint) write_joint(result, options, input, to);
  for (std::uint64_t row = 0; !result.joint && row < result.row_count(); ++row) {
    for (unsigned c = 0; c < result.channel_count(); ++c) {
      std::string prefix = input;
      if (result.rows) prefix += fmt::format("{},", row);
      if (with_channel) prefix.append(result.names.empty() ? "" : field(result.names[c])).append(",");
      write_histogram(result, row, c, options, prefix, to);
    }
  }
  to.flush();
}

void write_npy(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  std::vector<std::uint64_t> shape;
  const auto bytes = [&](const auto& values) {
    sink({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])});
  };
  const Dtype dtype = options.density ? Dtype::f64 : Dtype::u64;
  if (result.joint) {
    for (unsigned d = 0; d < result.joint->dimensions(); ++d) shape.push_back(result.joint->size(d));
    sink(io::npy_header(dtype, shape));
    if (options.density) bytes(result.joint->density());
    else bytes(result.joint->counts());
    return;
  }
  if (result.rows) shape.push_back(result.row_count());
  if (result.channel_count() > 1) shape.push_back(result.channel_count());
  shape.push_back(result.first().size());
  sink(io::npy_header(dtype, shape));
  for (std::uint64_t row = 0; row < result.row_count(); ++row) {
    for (unsigned c = 0; c < result.channel_count(); ++c) {
      const auto counts = result.block(row, c).counts;
      if (options.density) {
        bytes(result.density(row, c));
      } else if (options.cumulative) {
        std::vector<std::uint64_t> sums(counts.begin(), counts.end());
        for (std::size_t i = 1; i < sums.size(); ++i) sums[i] += sums[i - 1];
        bytes(sums);
      } else {
        bytes(counts);
      }
    }
  }
}

}  // namespace masu::cli

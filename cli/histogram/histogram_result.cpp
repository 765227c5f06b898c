// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "elements/order.h"
#include "ranks.h"
#include "runtime/parallel.h"
#include "text.h"

#include <masu/io.h>
#include <masu/reduce.h>
#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

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
  if (weighted) return weighted->n();
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

// The lines of one histogram; each begins with `prefix`.
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

namespace {

// One entry, or with rows a list of an entry for each.
template <class Entry>
void write_rows(const HistogramResult& result, std::string_view name, const Entry& entry, TextSink& to) {
  to.add(fmt::format(R"("{}":)", name));
  if (result.rows) to.list(result.row_count(), entry);
  else entry(0);
}

void write_outsiders(const HistogramResult& result, unsigned channel, TextSink& to) {
  const auto of_rows = [&](std::string_view name, auto member) {
    const auto entry = [&](std::uint64_t row) { to.add(fmt::to_string(result.block(row, channel).*member)); };
    write_rows(result, name, entry, to);
    to.add(",");
  };
  of_rows("below", &HistogramResult::Block::below);
  of_rows("above", &HistogramResult::Block::above);
  of_rows("nan", &HistogramResult::Block::nan);
}

// "counts" of a channel, and what was asked for beside them.
void write_channel_counts(const HistogramResult& result, unsigned channel, const WriteOptions& options, TextSink& to) {
  const auto counts = [&](std::uint64_t row) {
    const auto counts = result.block(row, channel).counts;
    to.list(counts.size(), [&](std::uint64_t i) { return fmt::to_string(counts[i]); });
  };
  const auto density = [&](std::uint64_t row) {
    const std::vector<double> density = result.density(row, channel);
    to.list(density.size(), [&](std::uint64_t i) { return json_number(density[i]); });
  };
  const auto cumulative = [&](std::uint64_t row) {
    const auto counts = result.block(row, channel).counts;
    std::uint64_t sum = 0;
    to.list(counts.size(), [&](std::uint64_t i) { return fmt::to_string(sum += counts[i]); });
  };
  write_rows(result, "counts", counts, to);
  if (options.density) to.add(",");
  if (options.density) write_rows(result, "density", density, to);
  if (options.cumulative) to.add(",");
  if (options.cumulative) write_rows(result, "cumulative", cumulative, to);
}

void write_channels(const HistogramResult& result, const WriteOptions& options, TextSink& to) {
  const Histogram& first = result.first();
  const bool several = result.channel_count() > 1;
  if (!several) write_outsiders(result, 0, to);
  to.add(R"("edges":)");
  to.list(first.size() + 1, [&](std::uint64_t i) { return json_number(first.edge(i), result.edge_dtype); });
  to.add(",");
  if (!several) return write_channel_counts(result, 0, options, to);
  to.add(R"("channels":)");
  to.list(result.channel_count(), [&](std::uint64_t i) {
    const auto c = static_cast<unsigned>(i);
    std::uint64_t n = 0;
    for (std::uint64_t row = 0; row < result.row_count(); ++row) n += result.block(row, c).n();
    to.add(fmt::format(R"({{"name":{},"n":{},)", json_string(result.names[i]), n));
    write_outsiders(result, c, to);
    write_channel_counts(result, c, options, to);
    to.add("}");
  });
}

void write_joint(const HistogramResult& result, const WriteOptions& options, TextSink& to) {
  const JointHistogram& joint = *result.joint;
  to.add(fmt::format(R"("outside":{},"nan":{},"edges":)", joint.outside(), joint.nan()));
  to.list(joint.dimensions(), [&](std::uint64_t d) {
    const std::vector<double> edges = joint.edges(static_cast<unsigned>(d));
    to.list(edges.size(), [&](std::uint64_t i) { return json_number(edges[i], result.column_edge_dtypes[d]); });
  });
  to.add(R"(,"counts":)");
  to.grid(joint, [&](std::uint64_t joint_bin) { return fmt::to_string(joint.counts()[joint_bin]); });
  if (!options.density) return;
  const std::vector<double> density = joint.density();
  to.add(R"(,"density":)");
  to.grid(joint, [&](std::uint64_t joint_bin) { return json_number(density[joint_bin]); });
}

}  // namespace

void write_json(const HistogramResult& result, const WriteOptions& options, const Sink& sink) {
  TextSink to(sink);
  to.add("{");
  if (options.several) to.add(fmt::format(R"("input":{},)", json_string(result.source.name)));
  to.add(fmt::format(R"("n":{},"dtype":"{}","device":{},"strategy":"{}",)", result.n(), to_string(result.source.dtype),
                     json_string(result.device), to_string(result.strategy())));
  if (result.joint) write_joint(result, options, to);
  else write_channels(result, options, to);
  to.add(json_report(result.texts.front().second, result.source.notes));
  to.add(fmt::format(",{}}}\n", json_seconds(result.seconds)));
  to.flush();
}

Bounds dtype_bounds(Dtype dtype) {
  return dispatch(dtype, [](auto tag) -> Bounds {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return {static_cast<double>(std::numeric_limits<T>::min()), static_cast<double>(std::numeric_limits<T>::max())};
    } else {
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    }
  });
}

bool one_value_per_bin(const Histogram& histogram, Bins::Kind kind, bool half_open, const Bounds& bounds) {
  if (is_float(histogram.dtype())) return false;
  const std::uint64_t bins = histogram.size();
  const double first = histogram.edge(0);
  constexpr double exact = 0x1p53;  // beyond it whole numbers have gaps in f64
  if (first != std::floor(first) || std::abs(first) + static_cast<double>(bins) >= exact) return false;
  if (histogram.edge(bins) - first != static_cast<double>(bins)) return false;
  // Between such ends, even bins have whole edges; explicit ones may lie anywhere.
  for (std::uint64_t i = 1; kind == Bins::Kind::edges && i < bins; ++i) {
    if (histogram.edge(i) != first + static_cast<double>(i)) return false;
  }
  // A closed last bin would hold a second value, its upper edge, if the data had it.
  return half_open || histogram.edge(bins) > bounds.greatest;
}

constexpr std::uint64_t most_copied = std::uint64_t{1} << 18U;  // values at a time, so that they stay in caches
constexpr std::uint64_t a_task = std::uint64_t{1} << 14U;       // of them

Summary::Summary(Dtype dtype) : extremes_(cpu_, dtype, ReduceOp::minmax), sum_(cpu_, dtype) {}

void Summary::add(const ArrayView& data, unsigned channel, unsigned channels) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<const T> values(static_cast<const T*>(data.data), data.count);
    std::vector<T> copy(channels == 1 ? 0 : most_copied);
    for (std::uint64_t at = channel; at < values.size(); at += most_copied * channels) {
      const std::uint64_t count = std::min<std::uint64_t>(most_copied, (values.size() - at - 1) / channels + 1);
      if (channels == 1) {
        add(ArrayView(values.subspan(at, count)));
        continue;
      }
      runtime::parallel_tasks((count + a_task - 1) / a_task, [&](std::uint64_t task) {
        const std::uint64_t end = std::min(count, (task + 1) * a_task);
        for (std::uint64_t i = task * a_task; i < end; ++i) copy[i] = values[at + i * channels];
      });
      add(ArrayView(std::span(copy).first(count)));
    }
  });
}

void Summary::add(const ArrayView& block) {
  if (block.count == 0) return;
  const ReduceResult found = reduce(cpu_, block, ReduceOp::minmax);
  const ArrayView least = found.min_values();
  const ArrayView greatest = found.max_values();
  if (std::isfinite(number_at(least, 0)) && std::isfinite(number_at(greatest, 0))) {
    extremes_.add(least);
    extremes_.add(greatest);
    return sum_.add(block);
  }
  dispatch(block.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<const T> values(static_cast<const T*>(block.data), block.count);
    std::vector<T> finite;
    std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
                 [](T value) { return std::isfinite(to_f64(value)); });
    add(ArrayView(finite));
  });
}

void Summary::finish() {
  merge_states("range", cpu_, extremes_);
  merge_states("mean", cpu_, sum_);
  if (sum_.count() == 0) return;
  const ReduceResult found = extremes_.result();
  range_ = table_element(found.min_values(), 0) + ":" + table_element(found.max_values(), 0);
  mean_ = table_number(sum_.mean(Dtype::f64).value());
}

void Summary::finish(const Histogram& histogram) {
  const auto counts = histogram.counts();
  const double base = histogram.edge(0);
  ExactSum sum;
  std::string least;
  std::string greatest;
  for (std::uint64_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double value = base + static_cast<double>(i);
    greatest = io::format_number(value, Dtype::i64);
    if (sum.count() == 0) least = greatest;
    sum.add(value, counts[i]);
  }
  if (sum.count() == 0) return;
  range_ = least + ":" + greatest;
  mean_ = table_number(sum.mean());
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_input.h"

#include "cli/arrays/strided_source.h"
#include "errors.h"

#include <fmt/format.h>
#include <algorithm>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_columns = 8;

// `lines`: as open_shared() takes it.
SharedSource open_one(const HistogramJob& job, const std::string& input, const io::SourceOptions& options, bool lines) {
  if (!job.region)
    return open_shared(input, options, lines && !job.rows && !job.paired && job.channels.value_or(1) == 1);
  const auto open = [&] {
    return region_source(io::open(input, options), *job.region, job.pitch, job.channels.value_or(1));
  };
  return open_for_first(input == "-" ? "standard input" : input, open, true);
}

unsigned channels_of(const HistogramJob& job, const io::SourceInfo& info) {
  const auto own = static_cast<unsigned>(std::max<std::size_t>(info.channels.size(), 1));
  if (!job.channels) return own;
  if (info.channels.size() > 1 && *job.channels != own && *job.channels != 1) {
    usage_error(fmt::format("--channels of {} is {} or 1, got {}", info.name, own, *job.channels));
  }
  if (info.count && *info.count % *job.channels != 0) {
    usage_error(fmt::format("--channels {} must divide the {} values of {}", *job.channels, *info.count, info.name));
  }
  return *job.channels;
}

std::vector<std::string> channel_names(unsigned channels, const io::SourceInfo& info) {
  if (info.channels.size() == channels) return info.channels;
  std::vector<std::string> names;
  for (unsigned i = 0; channels > 1 && i < channels; ++i) names.push_back(fmt::to_string(i));
  return names;
}

void check_columns(std::uint64_t columns, const std::string& name) {
  if (columns >= 1 && columns <= most_columns) return;
  usage_error(fmt::format("--joint takes 1 to {} columns, {} has {}", most_columns, name, columns));
}

// The columns of a two-dimensional array in Fortran order lie one after the other: each is a source of its own.
HistogramInput fortran_columns(const HistogramJob& job, const std::string& input, const io::SourceInfo& info) {
  if (input == "-") usage_error("--joint cannot read an array in Fortran order from standard input; give a file");
  HistogramInput result;
  const std::uint64_t rows = info.shape[0];
  for (std::uint64_t i = 0; i < info.shape[1]; ++i) {
    result.add({strided_source(io::open(input, job.source), {i * rows, rows, rows, 1}), Way::first});
    result.names.push_back(fmt::to_string(i));
  }
  result.info = result.sources.front()->info();
  return result;
}

// The columns of one input: its channels, those of a two-dimensional array, or the numbers one by one.
HistogramInput columns_of_one(const HistogramJob& job, const std::string& input) {
  io::SourceOptions options = job.source;
  if (!job.columns.empty()) options.column = job.columns.front();
  SharedSource shared = open_one(job, input, options, true);
  const io::SourceInfo info = shared.source->info();
  const bool table = info.format == "npy" && info.shape.size() == 2 && !job.channels && !job.region;
  if (table) check_columns(info.shape[1], info.name);
  if (table && info.fortran_order && info.shape[1] > 1) return fortran_columns(job, input, info);
  HistogramInput result;
  result.info = info;
  result.channels = table ? static_cast<unsigned>(info.shape[1]) : channels_of(job, info);
  check_columns(result.channels, info.name);
  result.names = channel_names(result.channels, info);
  result.add(std::move(shared));
  return result;
}

// Each input, or each --column of the one input, is a column.
HistogramInput separate_columns(const HistogramJob& job, std::span<const std::string> inputs) {
  const bool by_name = inputs.size() == 1;
  const std::size_t columns = by_name ? job.columns.size() : inputs.size();
  check_columns(columns, "the command");
  if (job.channels.value_or(1) != 1) usage_error("--joint of several inputs takes no --channels, each is one column");
  if (!by_name && job.columns.size() > 1) usage_error("--joint takes several inputs or several --column, got both");
  const auto from_pipe = by_name ? (inputs[0] == "-" ? 2 : 0) : std::count(inputs.begin(), inputs.end(), "-");
  if (from_pipe > 1) usage_error("--joint can read one column from standard input, got several");
  HistogramInput result;
  std::string name;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string& input = inputs[by_name ? 0 : i];
    io::SourceOptions options = job.source;
    if (!job.columns.empty()) options.column = job.columns[by_name ? i : 0];
    result.add(open_one(job, input, options, by_name));
    const io::SourceInfo& info = result.sources.back()->info();
    const io::SourceInfo& first = result.sources.front()->info();
    if (info.channels.size() > 1) {
      usage_error(fmt::format("--joint of several inputs: each is one column, {} has {} channels", info.name,
                              info.channels.size()));
    }
    if (info.count && first.count && *info.count != *first.count) {
      throw Error(ErrorCode::io, fmt::format("the columns must be equally long: {} has {} values, {} has {}",
                                             first.name, *first.count, info.name, *info.count));
    }
    result.names.push_back(by_name ? options.column : input);
    name += (name.empty() ? "" : ", ") + info.name;
  }
  io::unify_dtypes(result.sources);
  for (const auto& source : result.sources) {
    const io::SourceInfo& info = source->info();
    const io::SourceInfo& first = result.sources.front()->info();
    if (info.dtype != first.dtype) {
      throw Error(ErrorCode::io, fmt::format("the columns must have one dtype: {} is {}, {} is {}", first.name,
                                             to_string(first.dtype), info.name, to_string(info.dtype)));
    }
  }
  result.info = result.sources.front()->info();
  if (!by_name) result.info.name = name;
  return result;
}

HistogramInput open_columns(const HistogramJob& job, std::span<const std::string> inputs) {
  HistogramJob strict = job;
  // An entry left out of one column would part the coordinates of every later point.
  strict.source.strict = true;
  if (inputs.size() > 1 || job.columns.size() > 1) return separate_columns(strict, inputs);
  return columns_of_one(strict, inputs.front());
}

}  // namespace

std::optional<std::uint64_t> HistogramInput::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources) {
    if (!source->info().count) return std::nullopt;
    sum += *source->info().count;
  }
  return sum * size_of(info.dtype);
}

void HistogramInput::add(SharedSource source) {
  sources.push_back(std::move(source.source));
  ways.push_back(source.way);
}

std::uint64_t HistogramInput::bad_lines() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources) sum += source->bad_lines();
  return sum;
}

void HistogramInput::keep_for_rewind() {
  for (const auto& source : sources) source->keep_for_rewind();
}

namespace {

HistogramInput open_input(const HistogramJob& job, std::span<const std::string> inputs) {
  if (job.joint) return open_columns(job, inputs);
  HistogramInput result;
  io::SourceOptions options = job.source;
  if (job.columns.size() > 1) usage_error("several --column need --joint");
  if (!job.columns.empty()) options.column = job.columns.front();
  result.add(open_one(job, inputs.front(), options, true));
  result.info = result.sources.front()->info();
  result.channels = channels_of(job, result.info);
  result.names = channel_names(result.channels, result.info);
  return result;
}

}  // namespace

HistogramInput open_histogram_input(const HistogramJob& job, std::span<const std::string> inputs) {
  HistogramInput result = open_input(job, inputs);
  std::uint64_t sum = 0;
  bool known = true;
  for (std::size_t i = 0; i < result.sources.size(); ++i) {
    const std::optional<std::uint64_t> count = shared_count(*result.sources[i], result.ways[i]);
    known = known && count;
    sum += count.value_or(0);
  }
  if (known) result.elements = sum;
  return result;
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "cli/groups/grouped_table.h"
#include "program.h"

#include <fmt/format.h>
#include <masu/histogram.h>
#include <masu/io.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace masu::cli {
namespace {

// Which elements of a source are read: `take` of each of `rows` rows, which begin `stride` elements apart.
struct Stride {
  std::uint64_t start = 0;
  std::uint64_t take = 0;
  std::uint64_t stride = 0;
  std::uint64_t rows = 1;
};

// That part of another source.
std::unique_ptr<io::Source> strided_source(std::unique_ptr<io::Source> source, const Stride& stride,
                                           std::vector<std::uint64_t> shape) {
  io::SourceInfo info = source->info();
  info.count = stride.take * stride.rows;
  info.shape = std::move(shape);
  const auto runs = [stride](std::uint64_t row) -> std::optional<ElementRun> {
    if (row == stride.rows || stride.take == 0) return std::nullopt;
    return ElementRun{stride.start + row * stride.stride, stride.take};
  };
  return runs_source(std::move(source), std::move(info), runs,
                     stride.start + (stride.rows - 1) * stride.stride + stride.take);
}

std::string text(const Region& region) {
  return fmt::format("{},{},{},{}", region.x, region.y, region.width, region.height);
}

// start + length <= limit, without overflow
bool fits(std::uint64_t start, std::uint64_t length, std::uint64_t limit) {
  return length <= limit && start <= limit - length;
}

// Pixels of `channels` elements in rows of `stride` elements, over data whose number of rows follows from its size.
Stride pitched(const io::SourceInfo& info, const Region& region, std::uint64_t pitch, unsigned channels) {
  const std::size_t element = size_of(info.dtype);
  if (pitch % element != 0) {
    usage_error("--pitch must be a multiple of the {} bytes of {}, got {}", element, to_string(info.dtype), pitch);
  }
  const std::uint64_t row_end = (region.x + region.width) * channels;  // in elements; the options' limits keep it small
  if (row_end > pitch / element) {
    usage_error("--pitch {} is too small for --region {}, whose rows end at byte {}", pitch, text(region),
                row_end * element);
  }
  Stride stride{0, region.width * channels, pitch / element, region.height};
  const std::uint64_t most = info.count.value_or(~std::uint64_t{0});
  if (row_end > most || region.y + region.height - 1 > (most - row_end) / stride.stride) {
    data_error("{}: the region {} lies outside of its {} values in rows of {} bytes", info.name, text(region), most,
               pitch);
  }
  stride.start = region.y * stride.stride + region.x * channels;
  return stride;
}

// The pixels of a region: of an image, a .npy file of shape (height, width[, channels]), or other data with rows of
// `pitch` bytes and pixels of `channels` elements. Throws io for a region that lies outside.
std::unique_ptr<io::Source> region_source(std::unique_ptr<io::Source> source, const Region& region,
                                          const std::optional<std::uint64_t>& pitch, unsigned channels) {
  const io::SourceInfo& info = source->info();
  const bool shaped = !info.shape.empty();
  if (shaped && pitch) usage_error("--pitch is for data without a shape, {} is {}", info.name, info.format);
  if (!shaped && !pitch) usage_error("--region of {} needs --pitch, the bytes of a row", info.name);
  if (!shaped) {
    const Stride stride = pitched(info, region, *pitch, channels);
    return strided_source(std::move(source), stride, {region.height, region.width, channels});
  }
  if (info.shape.size() < 2 || info.shape.size() > 3) {
    data_error("{}: --region needs two or three dimensions, it has {}", info.name, info.shape.size());
  }
  if (info.fortran_order) {
    data_error("{}: --region needs an array in C order, it is in Fortran order", info.name);
  }
  const std::uint64_t height = info.shape[0];
  const std::uint64_t width = info.shape[1];
  const std::uint64_t pixel = info.shape.size() == 3 ? info.shape[2] : 1;
  if (!fits(region.x, region.width, width) || !fits(region.y, region.height, height)) {
    data_error("{}: the region {} lies outside of its {} x {} pixels", info.name, text(region), width, height);
  }
  const Stride stride{(region.y * width + region.x) * pixel, region.width * pixel, width * pixel, region.height};
  return strided_source(std::move(source), stride, {region.height, region.width, pixel});
}

constexpr std::uint64_t most_columns = 8;

// `lines`: as open_shared() takes it.
SharedSource open_one(const HistogramJob& job, const std::string& input, io::SourceOptions options, bool lines) {
  const char* by = job.rows ? "--rows" : job.channels.value_or(1) > 1 ? "--channels" : job.region ? "--region" : "";
  if (options.needed_by.empty()) options.needed_by = by;
  if (!job.region)
    return open_shared(input, options, lines && !job.rows && !job.weights && job.channels.value_or(1) == 1);
  const auto open = [&] {
    return region_source(io::open(input, options), *job.region, job.pitch, job.channels.value_or(1));
  };
  return open_for_first(input == "-" ? "standard input" : input, open, true);
}

unsigned channels_of(const HistogramJob& job, const io::SourceInfo& info) {
  const auto own = static_cast<unsigned>(std::max<std::size_t>(info.channels.size(), 1));
  if (!job.channels) return own;
  if (info.channels.size() > 1 && *job.channels != own && *job.channels != 1) {
    usage_error("--channels of {} is {} or 1, got {}", info.name, own, *job.channels);
  }
  if (info.count && *info.count % *job.channels != 0) {
    usage_error("--channels {} must divide the {} values of {}", *job.channels, *info.count, info.name);
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
  usage_error("--joint takes 1 to {} columns, {} has {}", most_columns, name, columns);
}

// The columns of a two-dimensional array in Fortran order lie one after the other: each is a source of its own.
HistogramInput fortran_columns(const HistogramJob& job, const std::string& input, const io::SourceInfo& info) {
  if (input == "-") usage_error("--joint cannot read an array in Fortran order from standard input; give a file");
  HistogramInput result;
  const std::uint64_t rows = info.shape[0];
  for (std::uint64_t i = 0; i < info.shape[1]; ++i) {
    result.add({strided_source(io::open(input, job.source), {i * rows, rows, rows, 1}, {rows}), Way::first});
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
  const bool table = info.channels.empty() && info.shape.size() == 2 && !job.channels && !job.region;
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
      usage_error("--joint of several inputs: each is one column, {} has {} channels", info.name, info.channels.size());
    }
    if (info.count && first.count && *info.count != *first.count) {
      data_error("the columns must be equally long: {} has {} values, {} has {}", first.name, *first.count, info.name,
                 *info.count);
    }
    result.names.push_back(by_name ? options.column : input);
    name += (name.empty() ? "" : ", ") + info.name;
  }
  io::unify_dtypes(result.sources);
  for (const auto& source : result.sources) {
    const io::SourceInfo& info = source->info();
    const io::SourceInfo& first = result.sources.front()->info();
    if (info.dtype != first.dtype) {
      data_error("the columns must have one dtype: {} is {}, {} is {}", first.name, to_string(first.dtype), info.name,
                 to_string(info.dtype));
    }
  }
  result.info = result.sources.front()->info();
  if (!by_name) result.info.name = name;
  return result;
}

HistogramInput open_columns(const HistogramJob& job, std::span<const std::string> inputs) {
  HistogramJob strict = job;
  // An entry left out of one column would part the coordinates of every later point.
  strict.source.needed_by = "--joint";
  if (inputs.size() > 1 || job.columns.size() > 1) return separate_columns(strict, inputs);
  return columns_of_one(strict, inputs.front());
}

}  // namespace

std::optional<std::uint64_t> HistogramInput::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources) {
    const io::SourceInfo& own = source->info();
    if (!own.count && !weighted) return std::nullopt;
    sum += own.count.value_or(0) * size_of(own.dtype);
  }
  return sum;
}

HistogramInput::Share HistogramInput::share(const HistogramJob& job) {
  std::optional<std::uint64_t> values = elements;
  if (job.weights) {
    // As many values as weights for each rank; rows are the first rank's.
    const bool apart = !job.rows && std::ranges::all_of(ways, [](Way way) { return way == Way::elements; });
    if (!apart) std::ranges::fill(ways, Way::first);
    const std::size_t columns_alone = sources.size() - 1;
    (void)cut_shared(std::span(sources).first(columns_alone), std::span(ways).first(columns_alone),
                     {.multiple = channels});
    (void)cut_shared(std::span(sources).last(1), std::span(ways).last(1));
    return {0, values};
  }
  if (ranks().several() && job.rows && !values) values = measure_shared(*sources.front(), ways.front());
  return {cut_shared(sources, ways, {.multiple = channels, .rows = job.rows.value_or(0)}), values};
}

void HistogramInput::add(SharedSource source) {
  sources.push_back(std::move(source.source));
  ways.push_back(source.way);
}

std::vector<std::string> HistogramInput::notes() const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const io::SourceInfo& own = sources[i]->info();
    const bool weights = weighted && i + 1 == sources.size();
    const bool several = sources.size() > (weighted ? 2 : 1);
    for (const std::string& text : own.notes) result.push_back(several || weights ? own.name + ": " + text : text);
    if (!weights && channels == 1 && own.channels.size() > 1 && std::ranges::count(own.channels, "alpha") != 0)
      result.emplace_back("alpha is counted with the other channels");
  }
  return result;
}

NamedReports HistogramInput::texts() const {
  NamedReports result;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string& name = sources[i]->info().name;
    if (result.empty() || result.back().first != name) result.emplace_back(name, report_of_ranks(sources[i]->report()));
  }
  return result;
}

namespace {

// What a table of groups holds.
class HeldSource final : public io::Source {
 public:
  explicit HeldSource(const GroupedTable& table) : info_(table.info()), values_(table.values().view()) {}
  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }
  std::uint64_t read(void* target, std::uint64_t count) override {
    const ArrayView some = *view(count);
    if (some.count != 0) std::memcpy(target, some.data, some.count * size_of(some.dtype));
    return some.count;
  }
  std::optional<ArrayView> view(std::uint64_t count) override {
    const ArrayView some = part_of(values_, position_, std::min(count, values_.count - position_));
    position_ += some.count;
    return some;
  }
  void rewind() override { position_ = 0; }

 private:
  io::SourceInfo info_;
  ArrayView values_;
  std::uint64_t position_ = 0;
};

HistogramInput open_input(const HistogramJob& job, std::span<const std::string> inputs) {
  if (job.joint) return open_columns(job, inputs);
  HistogramInput result;
  if (job.table != nullptr) {
    result.add({std::make_unique<HeldSource>(*job.table), Way::first});
    result.info = job.table->info();
    return result;
  }
  io::SourceOptions options = job.source;
  if (job.columns.size() > 1) usage_error("several --column need --joint");
  if (!job.columns.empty()) options.column = job.columns.front();
  result.add(open_one(job, inputs.front(), options, true));
  result.info = result.sources.front()->info();
  result.channels = channels_of(job, result.info);
  result.names = channel_names(result.channels, result.info);
  return result;
}

void open_weights(const HistogramJob& job, HistogramInput& input) {
  input.add(open_shared(job.weights->input, job.weights->from, false));
  input.weighted = true;
  if (job.source.places) {
    leave_out_pairs(input.sources.front(), input.sources.back());
    input.elements = shared_count(*input.sources.front(), input.ways.front());
    input.info.count = input.sources.front()->info().count;
  }
  const io::SourceInfo& by = input.sources.back()->info();
  const std::optional<std::uint64_t> count = shared_count(*input.sources.back(), input.ways.back());
  if (!job.joint && input.channels != 1) {
    usage_error("--weights takes one channel (--channels 1 takes all values alike), {} has {}", input.info.name,
                input.channels);
  }
  if (input.elements && count && *input.elements != *count * input.columns) {
    data_error("there must be a weight for each {}: {} has {}, {} has {}", job.joint ? "point" : "value",
               input.info.name, *input.elements / input.columns, by.name, *count);
  }
  if (!input.elements && count) input.elements = *count * input.columns;
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
  if (job.joint) result.columns = std::max<std::size_t>(result.sources.size(), result.channels);
  if (job.weights) open_weights(job, result);
  return result;
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/sort/lines.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t progress_bytes = std::uint64_t{4} << 20U;

// Where lines go, or their places.
class LineOutput {
 public:
  LineOutput(const LinesRequest& asked, const io::Rows& rows)
      : end_(rows.line_end()), visible_(is_standard_output(asked.common.output) && is_terminal(STDOUT_FILENO)) {
    io::SourceInfo info;
    info.format = "text";
    if (asked.index) places_.emplace(asked.common, info);
    else file_.emplace(asked.common.output.empty() ? "-" : asked.common.output);
    if (file_ && !rows.header().empty()) write(rows.header());
  }
  // Before the first line.
  void begin(std::uint64_t count) {
    if (places_) places_->begin(Dtype::u64, std::array{count});
  }
  void write(std::string_view line) {
    if (file_) {
      file_->write(visible_ ? std::string_view(shown_ = visible(line, "\t")) : line);
      return file_->write(end_);
    }
    std::uint64_t place = 0;
    std::memcpy(&place, line.data(), sizeof place);
    held_.push_back(place);
    if (held_.size() == held_places) flush();
  }
  void commit() {
    if (places_) flush();
    if (places_) places_->commit();
    else file_->commit();
  }

 private:
  static constexpr std::size_t held_places = std::size_t{1} << 16U;
  void flush() {
    places_->write(ArrayView(held_));
    held_.clear();
  }
  std::string_view end_;
  bool visible_;
  std::string shown_;
  std::optional<io::OutputFile> file_;
  std::optional<ArrayOutput> places_;
  std::vector<std::uint64_t> held_;
};

// Texts that are sorted as one.
using Inputs = std::vector<std::unique_ptr<io::Rows>>;
using Reports = std::vector<std::pair<std::string, io::TextReport>>;

Inputs open_inputs(std::vector<std::string> names, const io::SourceOptions& options,
                   std::span<const std::string> columns) {
  if (names.empty()) names.emplace_back("-");
  if (std::ranges::count(names, "-") > 1) usage_error("standard input can be one INPUT only");
  Inputs inputs;
  for (const std::string& name : names) {
    inputs.push_back(std::make_unique<io::Rows>(name, options, columns, true));
    if (inputs.back()->names() != inputs.front()->names()) {
      data_error("several INPUTs must have one header: {} has '{}', {} has '{}'", inputs.front()->name(),
                 io::printable(inputs.front()->header()), name, io::printable(inputs.back()->header()));
    }
  }
  return inputs;
}

std::optional<std::uint64_t> size_of_all(const Inputs& inputs) {
  std::optional<std::uint64_t> sum = 0;
  for (const auto& rows : inputs) {
    const std::optional<std::uint64_t> one = rows->size();
    sum = sum && one ? std::optional(*sum + *one) : std::nullopt;
  }
  return sum;
}

// Lines that all lack a field are a wrong --key or delimiter; a file must not be replaced by none of its lines.
void refuse_nothing(const Reports& reports) {
  for (const auto& [input, report] : reports) {
    for (const io::TextReport::Kind& kind : report.left_out) {
      if (kind.count == 0) continue;
      data_error("{}: no line can be sorted (line {}: {}); {}", input, kind.line, kind.first, report.how_cut);
    }
  }
}

}  // namespace

void check_line_output(const CommonOptions& common) {
  const std::string& path = common.output;
  if (!common.format.empty()) usage_error("--format is not for whole lines, which are written as they stand");
  const std::size_t dot = path.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : path.substr(dot);
  for (const std::string_view known : {".npy", ".npz", ".json", ".gz", ".zst", ".png"}) {
    if (ending == known) usage_error("lines are written as text: -o must not end in {}", ending);
  }
}

SortSummary sort_lines(const LinesRequest& asked, const char* what) {
  const auto began = Clock::now();
  if (ranks().several()) usage_error("--lines is not for several ranks");
  LineKeys keys(asked.keys, asked.ignore_case);
  const std::vector<std::string> columns = keys.columns();
  io::SourceOptions options = source_options(asked.input, asked.common);
  options.header = options.header || std::ranges::any_of(columns, is_column_name);
  const Inputs inputs = open_inputs(asked.input.inputs, options, columns);
  const std::optional<std::uint64_t> size = size_of_all(inputs);
  const Device device = device_of_rank(asked.common.device, Work::sorting, size.value_or(0));
  LineOutput output(asked, *inputs.front());
  Progress progress(progress_mode(asked.common));
  progress.start(what, size);
  LineSort sorter({device, memory_budget(asked.common), asked.common.tmpdir, asked.first, asked.unique});
  sorter.progress = [&](std::uint64_t bytes) { progress.advance(bytes); };
  SortSummary done;
  Reports reports;
  std::uint64_t places = 0;  // of the inputs before
  std::uint64_t nans = 0;    // that were left out
  for (const auto& rows : inputs) {
    std::uint64_t shown = rows->position();
    while (rows->next()) {
      const std::string_view key = keys.of(*rows, options.strict);
      if (asked.skip_nan && keys.nan()) {
        ++nans;
      } else if (asked.index) {
        const std::uint64_t place = places + rows->place();
        sorter.add(key, {reinterpret_cast<const char*>(&place), sizeof place});
      } else {
        sorter.add(key, rows->text());
      }
      if (const std::uint64_t here = rows->position(); here - shown >= progress_bytes)
        progress.advance(here - std::exchange(shown, here));
    }
    done.bytes += rows->position();
    reports.emplace_back(rows->name(), rows->report());
    places += reports.back().second.places;
  }
  done.text = join_inputs(reports);
  if (sorter.count() == 0 && nans == 0) refuse_nothing(reports);
  done.seconds.read = since(began);
  done.count = sorter.count();
  output.begin(std::min(done.count, asked.first.value_or(done.count)));
  sorter.finish([&](std::string_view line) { output.write(line); });
  progress.finish();
  output.commit();
  done.device = device.id();
  done.runs = sorter.runs();
  done.notes = keys.notes();
  if (!asked.common.quiet) {
    std::string name = inputs.front()->name();
    if (inputs.size() > 1) name += fmt::format(" and {} more", inputs.size() - 1);
    for (const std::string& text : done.notes) note(fmt::format("masu: {}: {}", name, text));
    if (nans != 0) note(fmt::format("masu: {}: {} NaNs left out", name, nans));
    for (const auto& [input, report] : reports) note_report(input, report);
  }
  done.seconds.transfer = sorter.times().transfer;
  done.seconds.compute = sorter.times().compute;
  done.seconds.total = since(began);
  return done;
}

}  // namespace masu::cli

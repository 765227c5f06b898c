// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/sort/lines.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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
    if (asked.index) places_.emplace(asked.common.output, info);
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

}  // namespace

void check_line_output(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string ending = dot == std::string::npos ? "" : path.substr(dot);
  for (const std::string_view known : {".npy", ".npz", ".json", ".gz", ".zst", ".png"}) {
    if (ending == known) usage_error("lines are written as text: -o must not end in {}", ending);
  }
}

LinesDone sort_lines(const LinesRequest& asked, const char* what) {
  const auto began = Clock::now();
  if (ranks().several()) usage_error("--lines is not for several ranks");
  if (asked.input.inputs.size() > 1) usage_error("--lines takes one INPUT");
  LineKeys keys(asked.keys, asked.ignore_case);
  const std::vector<std::string> columns = keys.columns();
  io::SourceOptions options = source_options(asked.input, asked.common);
  options.header = options.header || std::ranges::any_of(columns, is_column_name);
  const std::string input = asked.input.inputs.empty() ? "-" : asked.input.inputs.front();
  io::Rows rows(input, options, columns, true);
  const std::optional<std::uint64_t> size = rows.size();
  const Device device = device_of_rank(asked.common.device, Work::sorting, size.value_or(0));
  LineOutput output(asked, rows);
  Progress progress(progress_mode(asked.common));
  progress.start(what, size);
  LineSort sorter({device, memory_budget(asked.common), asked.common.tmpdir, asked.first, asked.unique});
  sorter.progress = [&](std::uint64_t bytes) { progress.advance(bytes); };
  LinesDone done;
  std::uint64_t told = rows.position();
  while (rows.next()) {
    const std::string_view key = keys.of(rows, options.strict);
    if (asked.skip_nan && keys.nan()) {
      ++done.nans;
    } else if (asked.index) {
      const std::uint64_t place = rows.place();
      sorter.add(key, {reinterpret_cast<const char*>(&place), sizeof place});
    } else {
      sorter.add(key, rows.text());
    }
    if (const std::uint64_t here = rows.position(); here - told >= progress_bytes) {
      progress.advance(here - std::exchange(told, here));
    }
  }
  done.seconds.read = since(began);
  done.count = sorter.count();
  done.bytes = rows.position();
  output.begin(std::min(done.count, asked.first.value_or(done.count)));
  sorter.finish([&](std::string_view line) { output.write(line); });
  progress.finish();
  output.commit();
  done.device = device.id();
  done.runs = sorter.runs();
  done.text = rows.report();
  done.notes = keys.notes();
  if (!asked.common.quiet) {
    for (const std::string& text : done.notes) note(fmt::format("masu: {}: {}", rows.name(), text));
    if (done.nans != 0) note(fmt::format("masu: {}: {} NaNs left out", rows.name(), done.nans));
    note_report(rows.name(), done.text);
  }
  done.seconds.transfer = sorter.times().transfer;
  done.seconds.compute = sorter.times().compute;
  done.seconds.total = since(began);
  return done;
}

}  // namespace masu::cli

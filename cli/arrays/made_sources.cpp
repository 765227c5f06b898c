// SPDX-License-Identifier: Apache-2.0
// Sources made of others: several inputs as one, parts of one, and pairs of which no entry is empty.
#include "cli/arrays/array_stream.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace masu::cli {
namespace {

// One source after the other.
class JoinedSource final : public io::Source {
 public:
  JoinedSource(std::vector<std::unique_ptr<io::Source>> sources, const io::SourceOptions& options)
      : sources_(std::move(sources)), counts_(sources_.size()), noted_(sources_.size()) {
    const io::SourceInfo& first = sources_.front()->info();
    info_.name = fmt::format("{} and {} more", first.name, sources_.size() - 1);
    info_.format = first.format;
    info_.dtype = first.dtype;
    info_.names = first.names;
    info_.count = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const io::SourceInfo& each = sources_[i]->info();
      if (type_name(each) != type_name(first)) {
        data_error("several INPUTs must have one dtype: {} has {}, {} has {}", first.name, type_name(first), each.name,
                   type_name(each));
      }
      info_.count = info_.count && each.count ? std::optional(*info_.count + *each.count) : std::nullopt;
      take_notes(i);
    }
    if (!info_.names || info_.names->kind() != io::ValueNames::Kind::texts) return;
    std::vector<std::shared_ptr<const io::ValueNames>> names;
    for (const auto& source : sources_) names.push_back(source->info().names);
    info_.names = io::join_texts(names, options, values_);
  }
  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }

  std::uint64_t read(void* target, std::uint64_t count) override {
    std::uint64_t done = 0;
    while (done < count && at_ < sources_.size()) {
      const std::uint64_t got =
          sources_[at_]->read(static_cast<std::byte*>(target) + done * size_of(info_.dtype), count - done);
      auto* texts = static_cast<std::uint32_t*>(target) + done;
      for (std::uint64_t i = 0; i < got && !values_.empty(); ++i) texts[i] = values_[at_][texts[i]];
      pass(got);
      done += got;
    }
    return done;
  }
  std::optional<ArrayView> view(std::uint64_t count) override {
    while (at_ < sources_.size()) {
      if (!values_.empty()) return std::nullopt;
      const std::optional<ArrayView> some = sources_[at_]->view(count);
      if (!some) return std::nullopt;
      pass(some->count);
      if (some->count != 0) return some;
    }
    return ArrayView(info_.dtype, nullptr, 0);
  }
  void rewind() override {
    for (std::size_t i = 0; i < sources_.size() && i <= at_; ++i) sources_[i]->rewind();
    at_ = passed_ = 0;
  }
  void keep_for_rewind() override {
    for (const auto& source : sources_) source->keep_for_rewind();
  }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override {
    std::uint64_t sum = 0;
    for (const auto& source : sources_) sum += source->bad_lines();
    return sum;
  }
  [[nodiscard]] io::TextReport report() const override {
    std::vector<std::pair<std::string, io::TextReport>> reports;
    for (const auto& source : sources_) reports.emplace_back(source->info().name, source->report());
    return join_inputs(reports);
  }
  // After all has been read.
  void to_places(std::span<std::uint64_t> indices) override {
    std::vector<std::uint64_t> places_of = counts_;
    for (std::size_t i = 0; i < sources_.size() && info_.format == "text"; ++i) {
      places_of[i] = sources_[i]->report().places;
    }
    for (std::uint64_t& index : indices) {
      std::size_t source = 0;
      std::uint64_t places = 0;
      for (; source + 1 < sources_.size() && index >= counts_[source]; ++source) {
        index -= counts_[source];
        places += places_of[source];
      }
      sources_[source]->to_places({&index, 1});
      index += places;
    }
  }

 private:
  // `got` elements came of the source; none at its end.
  void pass(std::uint64_t got) {
    passed_ += got;
    if (got != 0) return;
    take_notes(at_);
    counts_[at_++] = std::exchange(passed_, 0);
  }
  void take_notes(std::size_t source) {
    const io::SourceInfo& from = sources_[source]->info();
    for (; noted_[source] < from.notes.size(); ++noted_[source]) {
      info_.notes.push_back(from.name + ": " + from.notes[noted_[source]]);
    }
  }

  std::vector<std::unique_ptr<io::Source>> sources_;
  std::vector<std::uint64_t> counts_;               // elements of each that has ended
  std::vector<std::size_t> noted_;                  // notes that were taken of each
  std::vector<std::vector<std::uint32_t>> values_;  // of texts: what the values of each source are among all
  io::SourceInfo info_;
  std::size_t at_ = 0;
  std::uint64_t passed_ = 0;  // elements of that one so far
};

class RunsSource final : public io::Source {
 public:
  RunsSource(std::unique_ptr<io::Source> source, io::SourceInfo info, ElementRuns runs, std::uint64_t end,
             std::optional<io::TextReport> report)
      : source_(std::move(source)),
        info_(std::move(info)),
        runs_(std::move(runs)),
        end_(end),
        report_(std::move(report)) {}

  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return source_->bad_lines(); }
  [[nodiscard]] io::TextReport report() const override { return report_ ? *report_ : source_->report(); }
  void keep_for_rewind() override { source_->keep_for_rewind(); }
  void rewind() override {
    source_->rewind();
    position_ = number_ = within_ = 0;
  }
  std::uint64_t read(void* target, std::uint64_t count) override {
    auto* to = static_cast<std::byte*>(target);
    const std::size_t element = size_of(info_.dtype);
    std::uint64_t done = 0;
    for (std::optional<ElementRun> run; done < count && (run = runs_(number_));) {
      const std::uint64_t some = std::min(count - done, run->count - within_);
      if (some != 0) {
        skip_to(run->begin + within_);
        const std::uint64_t got = read_some(to + done * element, some);
        done += got;
        within_ += got;
      }
      if (within_ != run->count) continue;
      within_ = 0;
      ++number_;
    }
    if (done == 0 && count != 0 && report_) see_end();
    return done;
  }

 private:
  // Faults of what stands beside a text may show at the end only.
  void see_end() {
    skip_to(end_);
    left_.resize(std::max(left_.size(), size_of(info_.dtype)));
    (void)source_->read(left_.data(), 1);
  }
  std::uint64_t read_some(void* target, std::uint64_t count) {
    const std::uint64_t got = source_->read(target, count);
    if (got == 0) data_error("{}: ends after {} values, {} are needed", info_.name, position_, end_);
    position_ += got;
    return got;
  }
  void skip_to(std::uint64_t position) {
    constexpr std::uint64_t most = 1 << 16;
    while (position_ < position) {
      const std::uint64_t some = std::min(most, position - position_);
      if (left_.size() < some * size_of(info_.dtype)) left_.resize(some * size_of(info_.dtype));
      read_some(left_.data(), some);
    }
  }
  std::unique_ptr<io::Source> source_;
  io::SourceInfo info_;
  ElementRuns runs_;
  std::uint64_t end_;
  std::optional<io::TextReport> report_;
  std::uint64_t position_ = 0;  // in the source
  std::uint64_t number_ = 0;    // of the run
  std::uint64_t within_ = 0;
  std::vector<std::byte> left_;
};

// Places without a number, how many places there are, and what is said of the text.
struct Missing {
  std::vector<std::uint64_t> places;
  std::uint64_t all = 0;
  io::TextReport report = {};
};

// A text that is parsed as it is read knows its gaps only after it was read.
Missing missing_in(io::Source& source) {
  if (source.info().format != "text") return {{}, measure(source)};
  const bool pass = !source.info().count || source.report().places < *source.info().count;
  if (pass) source.keep_for_rewind();
  std::vector<std::byte> passing(pass ? std::size_t{1} << 16U : 0);
  while (pass && source.read(passing.data(), passing.size() / size_of(source.info().dtype)) != 0) {
  }
  Missing missing{{}, source.report().places, source.report()};
  std::array<io::Source::Gap, 256> gaps;
  std::uint64_t before = 0;  // missing in front of the gap
  for (std::uint64_t first = 0, got = gaps.size(); got == gaps.size(); first += got) {
    got = source.gaps(first, gaps);
    for (const io::Source::Gap& gap : std::span(gaps).first(got)) {
      for (; before < gap.missing; ++before) missing.places.push_back(gap.number + before);
    }
  }
  if (pass) source.rewind();
  return missing;
}

}  // namespace

io::TextReport join_inputs(std::span<const std::pair<std::string, io::TextReport>> inputs) {
  io::TextReport all = inputs.front().second;
  for (const auto& [name, one] : inputs.subspan(1)) {
    for (std::size_t kind = 0; kind < all.left_out.size(); ++kind) {
      const io::TextReport::Kind& more = one.left_out[kind];
      if (more.count == 0) continue;
      if (all.left_out[kind].count == 0) {
        all.left_out[kind] = {0, more.line, more.first + (more.first.empty() ? "of " : " of ") + name};
      }
      all.left_out[kind].count += more.count;
    }
    all.places += one.places;
    all.lines += one.lines;
    all.comment_lines += one.comment_lines;
    all.rows = all.rows && one.rows;
    all.row_names = all.row_names || one.row_names;
    if (all.ragged_line == 0) all.ragged_line = one.ragged_line;
  }
  return all;
}

std::unique_ptr<io::Source> open_joined(const std::vector<std::string>& inputs, io::SourceOptions options) {
  if (std::ranges::count(inputs, "-") > 1) usage_error("standard input can be one INPUT only");
  options.memory /= inputs.size();
  std::vector<std::unique_ptr<io::Source>> sources;
  for (const std::string& input : inputs) sources.push_back(io::open(input, options));
  io::unify_dtypes(sources);
  return std::make_unique<JoinedSource>(std::move(sources), options);
}

std::unique_ptr<io::Source> runs_source(std::unique_ptr<io::Source> source, io::SourceInfo info, ElementRuns runs,
                                        std::uint64_t end, std::optional<io::TextReport> report) {
  return std::make_unique<RunsSource>(std::move(source), std::move(info), std::move(runs), end, std::move(report));
}

void leave_out_pairs(std::unique_ptr<io::Source>& first, std::unique_ptr<io::Source>& second) {
  if (first->info().format != "text" && second->info().format != "text") return;
  const std::array<std::unique_ptr<io::Source>*, 2> sources{&first, &second};
  std::array<Missing, 2> missing{missing_in(*first), missing_in(*second)};
  if (missing[0].places.empty() && missing[1].places.empty()) return;
  if (missing[0].all != missing[1].all) {
    data_error("the inputs must be equally long: {} has {} rows, {} has {}", first->info().name, missing[0].all,
               second->info().name, missing[1].all);
  }
  std::vector<std::uint64_t> all;
  std::ranges::set_union(missing[0].places, missing[1].places, std::back_inserter(all));
  constexpr auto empty = static_cast<std::size_t>(io::LeftOut::empty);
  // The rows of one text are reported once.
  if (first->info().name == second->info().name) {
    const std::uint64_t other = missing[1].report.left_out[empty].line;
    io::TextReport::Kind& kind = missing[0].report.left_out[empty];
    kind.line = kind.count == 0 ? other : other == 0 ? kind.line : std::min(kind.line, other);
    kind.count = all.size();
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::vector<std::uint64_t> left;
    auto own = missing[i].places.begin();
    for (const std::uint64_t place : all) {
      if (own != missing[i].places.end() && *own == place) ++own;
      else left.push_back(place - static_cast<std::uint64_t>(own - missing[i].places.begin()));
    }
    io::SourceInfo info = (*sources[i])->info();
    info.count = missing[i].all - all.size();
    const std::uint64_t end = *info.count + left.size();
    const auto runs = [left = std::move(left), end](std::uint64_t number) -> std::optional<ElementRun> {
      if (number > left.size()) return std::nullopt;
      const std::uint64_t begin = number == 0 ? 0 : left[number - 1] + 1;
      return ElementRun{begin, (number < left.size() ? left[number] : end) - begin};
    };
    *sources[i] = runs_source(std::move(*sources[i]), std::move(info), runs, end, std::move(missing[i].report));
  }
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// Several inputs as one.
#include "cli/arrays/array_stream.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>

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

}  // namespace masu::cli

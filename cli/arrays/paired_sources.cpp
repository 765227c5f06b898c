// SPDX-License-Identifier: Apache-2.0
// Numbers that stand side by side: a pair of which one entry is empty is left out.
#include "cli/arrays/array_stream.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace masu::cli {
namespace {

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

// A source without some of its numbers.
class PairedSource final : public io::Source {
 public:
  // `left`: their indices, rising.
  PairedSource(std::unique_ptr<io::Source> source, std::vector<std::uint64_t> left, std::uint64_t count,
               io::TextReport report)
      : source_(std::move(source)), info_(source_->info()), left_(std::move(left)), report_(std::move(report)) {
    info_.count = count;
  }
  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] io::TextReport report() const override { return report_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return source_->bad_lines(); }
  void keep_for_rewind() override { source_->keep_for_rewind(); }
  void rewind() override {
    source_->rewind();
    position_ = next_ = 0;
  }
  std::uint64_t read(void* target, std::uint64_t count) override {
    auto* to = static_cast<std::byte*>(target);
    std::uint64_t done = 0;
    while (done < count) {
      const std::uint64_t got = source_->read(to + done * size_of(info_.dtype), std::min(count - done, room()));
      if (got == 0) break;
      position_ += got;
      done += got;
    }
    return done;
  }
  std::optional<ArrayView> view(std::uint64_t count) override {
    const std::optional<ArrayView> some = source_->view(std::min(count, room()));
    if (some) position_ += some->count;
    return some;
  }

 private:
  // How many come before the next one that is left out, after those that come now were passed.
  std::uint64_t room() {
    std::array<std::byte, sizeof(std::uint64_t)> passed;
    for (; next_ < left_.size() && left_[next_] == position_; ++next_) position_ += source_->read(passed.data(), 1);
    return next_ < left_.size() ? left_[next_] - position_ : ~std::uint64_t{0};
  }

  std::unique_ptr<io::Source> source_;
  io::SourceInfo info_;
  std::vector<std::uint64_t> left_;
  io::TextReport report_;
  std::uint64_t position_ = 0;  // in the source
  std::size_t next_ = 0;        // in left_
};

}  // namespace

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
  // The rows of one text are told of once.
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
    *sources[i] = std::make_unique<PairedSource>(std::move(*sources[i]), std::move(left), missing[i].all - all.size(),
                                                 std::move(missing[i].report));
  }
}

}  // namespace masu::cli

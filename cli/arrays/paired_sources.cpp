// SPDX-License-Identifier: Apache-2.0
// Numbers that stand side by side: a pair of which one entry is empty is left out.
#include "cli/arrays/array_stream.h"
#include "cli/arrays/runs_source.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
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
    *sources[i] =
        std::make_unique<RunsSource>(std::move(*sources[i]), std::move(info), runs, end, std::move(missing[i].report));
  }
}

}  // namespace masu::cli

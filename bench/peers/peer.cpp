// SPDX-License-Identifier: Apache-2.0
#include "peer.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <numeric>
#include <type_traits>

#include "sort_check.h"

namespace masu::bench {
namespace {

constexpr unsigned device_repeats = 25;
constexpr unsigned cpu_repeats = 11;
constexpr unsigned least_repeats = 3;
constexpr double most_seconds = 2;
constexpr std::uint64_t most_checked = std::uint64_t{1} << 24;  // keys; more take too long to bring back

void say(const PeerAbout& peer, const Row& row, const std::string& text) {
  std::fprintf(stderr, "%s: %s %s: %s\n", peer.name.c_str(), row.case_name.c_str(), row.distribution.c_str(),
               text.c_str());
}

// Bytes must be counted exactly; others may fall into the bin beside where a peer's rule has another
// rounding. A wrong count is its own defect; the time it takes is the time it takes.
void check(const HistogramPeer& peer, const Row& row, const HistogramPeer::Task& task,
           const std::vector<std::uint64_t>& counts) {
  bool right = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == task.data.count;
  if (task.what.dtype == Dtype::u8 && task.what.channels == 1) {
    std::vector<std::uint64_t> expected(task.what.bins);
    const auto* values = static_cast<const std::uint8_t*>(task.data.data);
    for (std::uint64_t i = 0; i < task.data.count; ++i) ++expected[values[i]];
    right = right && counts == expected;
  }
  if (!right) say(peer, row, "its counts are wrong");
}

std::vector<Row> measure_histograms(const std::vector<HistogramPeer>& peers, const Selection& selection) {
  std::vector<Row> rows;
  const auto shapes = Selection::chosen("--distribution", selection.distributions, histogram_distributions);
  for (const std::uint64_t bytes : selection.sizes({})) {
    for (const HistogramCase& what : selection.chosen_cases(histogram_cases())) {
      for (const std::string_view distribution : shapes) {
        const Input input = histogram_input(what, bytes, distribution);
        for (const HistogramPeer& peer : peers) {
          each_turn(peer, selection, histogram_row(what, input, distribution), [&](Row row, const PeerTurn& turn) {
            const HistogramPeer::Task task{turn, what, input.view()};
            const Measured measured = peer.run(task);
            check(peer, row, task, measured.counts);
            row.seconds = measured.seconds;
            row.scratch = measured.scratch;
            rows.push_back(std::move(row));
          });
        }
      }
    }
  }
  return rows;
}

void check(const SortPeer& peer, const Row& row, const SortPeer::Task& task, const Sorted& sorted) {
  const bool has_nans = row.distribution == "bits" || row.distribution == "special" ||
                        (is_float(row.dtype) && row.distribution.starts_with("and"));
  const bool ties = has_nans || !sorted.values.empty();
  if (!task.result || (has_nans && !peer.nans_last) || (ties && !peer.stable)) return;
  const ArrayView keys(row.dtype, sorted.keys.data(), sorted.keys.size() / size_of(row.dtype));
  bool right = false;
  if (!sorted.values.empty()) {
    right = is_stable_order(task.keys, sorted.values) &&
            (sorted.keys.empty() || is_gathered(keys, task.keys, sorted.values));
  } else {
    right = keys.count == task.keys.count && rises(keys, task.offsets) &&
            key_facts(keys, task.offsets) == key_facts(task.keys, task.offsets);
  }
  if (!right) say(peer, row, "its result is not the stably sorted input");
}

std::vector<Row> measure_sorts(const std::vector<SortPeer>& peers, const Selection& selection,
                               std::span<const std::string_view> usual) {
  std::vector<Row> rows;
  for (const SortCase& what : selection.chosen_cases(sort_cases())) {
    for (std::uint64_t count : selection.counts(what.element_bytes(), usual)) {
      count = what.whole(count);
      for (const std::string_view distribution : ordering_distributions_of(what.dtype, selection.distributions)) {
        const Input keys = ordering_input(what.dtype, count, distribution);
        for (const SortPeer& peer : peers) {
          each_turn(peer, selection, sort_row(what, keys, distribution), [&](Row row, const PeerTurn& turn) {
            const SortPeer::Task task{turn, &what, keys.view(), what.offsets(count), count <= most_checked};
            const Sorted sorted = peer.run(task);
            check(peer, row, task, sorted);
            row.seconds = sorted.kernel;
            row.scratch = sorted.scratch;
            rows.push_back(row);
            if (sorted.call.size() == 0) return;
            row.kind = "call";
            row.seconds = sorted.call;
            rows.push_back(std::move(row));
          });
        }
      }
    }
  }
  return rows;
}

// Cases of unique, search and topk; `sorted_of` makes what a case's data is sought in.
template <class Case, class SortedOf>
std::vector<Row> measure_finding(std::span<const Case> cases, const std::vector<FindingPeer>& peers,
                                 const Selection& selection, std::span<const std::string_view> usual,
                                 const SortedOf& sorted_of) {
  std::vector<Row> rows;
  for (const Case& what : selection.chosen_cases(cases)) {
    for (const std::uint64_t count : selection.counts(size_of(what.dtype), usual)) {
      for (const std::string_view distribution : ordering_distributions_of(what.dtype, selection.distributions)) {
        const Input data = ordering_input(what.dtype, count, distribution);
        const Input sorted = sorted_of(what, distribution);
        bool runs = false;
        if constexpr (std::is_same_v<Case, UniqueCase>) runs = what.runs;
        Row about = ordering_row(what.name, data, distribution);
        std::uint64_t k = 0;
        if constexpr (std::is_same_v<Case, TopkCase>) {
          k = std::min(what.k, count);
          about = topk_row(what, data, distribution);
        }
        for (const FindingPeer& peer : peers) {
          each_turn(peer, selection, about, [&](Row row, const PeerTurn& turn) {
            row.seconds = peer.run({turn, runs, k, data.view(), sorted.view()});
            rows.push_back(std::move(row));
          });
        }
      }
    }
  }
  return rows;
}

Selection with_sizes(Selection selection, const std::vector<std::string_view>& sizes) {
  if (selection.size_texts.empty() && !selection.quick) selection.size_texts.assign(sizes.begin(), sizes.end());
  if (selection.size_texts.empty()) selection.size_texts.emplace_back("64Ki");
  return selection;
}

int run(int argc, char** argv, const std::vector<PeerSuite>& suites) {
  CLI::App app("Measures peers of masu on the inputs of masu bench; writes JSON.");
  Selection selection;
  std::string output = "-";
  std::string suite;
  std::vector<std::string> only;
  std::vector<std::string> names;
  for (const PeerSuite& one : suites) names.push_back(one.name);
  app.add_option("SUITE", suite, "What to measure")->required()->check(CLI::IsMember(names));
  add_selection(cli::Subcommand(app), selection);
  app.add_option("--only", only, "Measure the peers with TEXT in their names; repeatable")
      ->delimiter(',')
      ->type_name("TEXT");
  app.add_option("-o,--output", output, "Write the report to FILE");
  CLI11_PARSE(app, argc, argv);
  for (const PeerSuite& one : suites) {
    if (one.name != suite) continue;
    const std::vector<Row> rows = one.measure(selection, only);
    io::OutputFile file(output);
    file.write(to_json(suite, one.program, {}, rows).dump(2) + "\n");
    file.commit();
  }
  return 0;
}

}  // namespace

void each_turn(const PeerAbout& peer, const Selection& selection, Row row,
               const std::function<void(const Row&, const PeerTurn&)>& measure) {
  if (std::find(peer.cases.begin(), peer.cases.end(), row.case_name) == peer.cases.end()) return;
  row.peer = peer.name;
  row.device = peer.device;
  std::vector<unsigned> threads = selection.threads_or_default();
  if (peer.most_threads == 0) threads = {0};
  for (const unsigned count : threads) {
    if (count > peer.most_threads) continue;
    row.threads = count;
    try {
      measure(row, {count, selection.repeats_or(peer.most_threads == 0 ? device_repeats : cpu_repeats)});
    } catch (const std::runtime_error& error) {
      say(peer, row, fmt::format("left out: {}", error.what()));
    }
  }
}

PeerSuite histogram_peers(std::vector<HistogramPeer> peers, std::vector<std::string_view> sizes) {
  const std::string program = peers.front().name;
  return {"histogram", program,
          [peers = std::move(peers), sizes = std::move(sizes)](const Selection& selection,
                                                               const std::vector<std::string>& only) {
            return measure_histograms(named(peers, only), with_sizes(selection, sizes));
          }};
}

PeerSuite sort_peers(std::vector<SortPeer> peers, std::vector<std::string_view> counts) {
  const std::string program = peers.front().name;
  return {"sort", program,
          [peers = std::move(peers), counts = std::move(counts)](const Selection& selection,
                                                                 const std::vector<std::string>& only) {
            return measure_sorts(named(peers, only), selection, counts);
          }};
}

PeerSuite unique_peers(std::vector<FindingPeer> peers, std::vector<std::string_view> counts) {
  const std::string program = peers.front().name;
  return {"unique", program,
          [peers = std::move(peers), counts = std::move(counts)](const Selection& selection,
                                                                 const std::vector<std::string>& only) {
            return measure_finding(unique_cases(), named(peers, only), selection, counts,
                                   [](const UniqueCase& what, std::string_view) { return Input(what.dtype, 0); });
          }};
}

PeerSuite topk_peers(std::vector<FindingPeer> peers, std::vector<std::string_view> counts) {
  const std::string program = peers.front().name;
  return {"topk", program,
          [peers = std::move(peers), counts = std::move(counts)](const Selection& selection,
                                                                 const std::vector<std::string>& only) {
            return measure_finding(topk_cases(), named(peers, only), selection, counts,
                                   [](const TopkCase& what, std::string_view) { return Input(what.dtype, 0); });
          }};
}

PeerSuite search_peers(std::vector<FindingPeer> peers, std::vector<std::string_view> counts) {
  const std::string program = peers.front().name;
  return {"search", program,
          [peers = std::move(peers), counts = std::move(counts)](const Selection& selection,
                                                                 const std::vector<std::string>& only) {
            return measure_finding(search_cases(), named(peers, only), selection, counts, search_sorted);
          }};
}

int peer_main(int argc, char** argv, const std::vector<PeerSuite>& suites) {
  try {
    return run(argc, argv, suites);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

Samples time_repeats(unsigned repeats, const std::function<void()>& body, const std::function<void()>& prepare) {
  const auto timed = [&] {
    if (prepare) prepare();
    const double start = now();
    body();
    return now() - start;
  };
  timed();
  Samples samples;
  const double end = now() + most_seconds;
  for (unsigned i = 0; i < repeats && (i < least_repeats || now() < end); ++i) samples.add(timed());
  return samples;
}

}  // namespace masu::bench

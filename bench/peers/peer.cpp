// SPDX-License-Identifier: Apache-2.0
#include "peer.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>

namespace masu::bench {
namespace {

// Bytes must be counted exactly; others may fall into the bin beside where a peer's rule has another
// rounding.
void check(const Peer& peer, const HistogramCase& what, const ArrayView& data,
           const std::vector<std::uint64_t>& counts) {
  bool right = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == data.count;
  if (what.dtype == Dtype::u8 && what.channels == 1) {
    std::vector<std::uint64_t> expected(what.bins);
    const auto* values = static_cast<const std::uint8_t*>(data.data);
    for (std::uint64_t i = 0; i < data.count; ++i) ++expected[values[i]];
    right = right && counts == expected;
  }
  // Its own defect; the time it takes is the time it takes.
  if (!right) std::fprintf(stderr, "%s: %s: its counts are wrong\n", peer.name.c_str(), std::string(what.name).c_str());
}

bool has(const Peer& peer, const HistogramCase& what) {
  return std::find(peer.cases.begin(), peer.cases.end(), what.name) != peer.cases.end();
}

void measure(const Peer& peer, const Selection& selection, const HistogramCase& what, const Input& input, Row row,
             std::vector<Row>& rows) {
  row.peer = peer.name;
  row.device = peer.device;
  std::vector<unsigned> threads = selection.threads_or_default();
  if (peer.most_threads == 0) threads = {0};
  for (const unsigned count : threads) {
    if (count > peer.most_threads) continue;
    const unsigned repeats = selection.repeats_or(peer.most_threads == 0 ? 25 : 11);
    try {
      const Measured measured = peer.run({what, input.view(), count, repeats});
      check(peer, what, input.view(), measured.counts);
      row.threads = count;
      row.seconds = measured.seconds;
      row.scratch = measured.scratch;
      rows.push_back(row);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "%s: %s %s: left out: %s\n", peer.name.c_str(), std::string(what.name).c_str(),
                   row.distribution.c_str(), error.what());
    }
  }
}

std::vector<Row> measure_all(const std::vector<Peer>& peers, const Selection& selection,
                             std::span<const std::string_view> sizes) {
  std::vector<Row> rows;
  Selection asked = selection;
  if (asked.size_texts.empty() && !asked.quick) asked.size_texts.assign(sizes.begin(), sizes.end());
  const auto shapes = Selection::chosen("--distribution", asked.distributions, distributions);
  for (const std::uint64_t bytes : asked.sizes("64Ki")) {
    for (const HistogramCase& what : chosen_cases(asked)) {
      for (const std::string_view distribution : shapes) {
        const Input input(what, bytes, distribution);
        Row row;
        row.what = what;
        row.distribution = distribution;
        row.bytes = input.bytes().size();
        for (const Peer& peer : peers) {
          if (has(peer, what)) measure(peer, asked, what, input, row, rows);
        }
      }
    }
  }
  return rows;
}

int run(int argc, char** argv, const std::vector<Peer>& peers, std::span<const std::string_view> sizes) {
  CLI::App app("Measures a peer of masu on the inputs of masu bench histogram; writes JSON.");
  Selection selection;
  std::string output = "-";
  add_selection(app, selection);
  app.add_option("-o,--output", output, "Write the report to FILE");
  CLI11_PARSE(app, argc, argv);
  const std::vector<Row> rows = measure_all(peers, selection, sizes);
  io::OutputFile file(output);
  file.write(to_json("histogram", peers.front().name, {}, rows).dump(2) + "\n");
  file.commit();
  return 0;
}

}  // namespace

int peer_main(int argc, char** argv, std::vector<Peer> peers, std::span<const std::string_view> sizes) {
  try {
    return run(argc, argv, peers, sizes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

Samples time_repeats(unsigned repeats, const std::function<void()>& body) {
  body();
  Samples samples;
  for (unsigned i = 0; i < repeats; ++i) {
    const double start = now();
    body();
    samples.add(now() - start);
  }
  return samples;
}

}  // namespace masu::bench

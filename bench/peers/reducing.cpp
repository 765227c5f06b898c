// SPDX-License-Identifier: Apache-2.0
#include <masu/error.h>

#include <algorithm>

#include "peer.h"

namespace masu::bench {
namespace {

// The cases that are wanted, of those that a peer has.
Names cases_of(const std::vector<ReducingPeer>& peers, const Selection& selection) {
  Names known;
  for (const ReducingPeer& peer : peers) {
    for (const std::string& name : peer.cases) {
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
  }
  return Selection::chosen("--case", selection.cases, known);
}

std::vector<Row> measure(const std::vector<ReducingPeer>& peers, const Selection& selection,
                         std::span<const std::string_view> counts) {
  std::vector<Row> rows;
  for (const std::string_view name : cases_of(peers, selection)) {
    const std::size_t dash = name.find('-');
    const Dtype dtype = dtype_from_name(name.substr(0, dash));
    for (const std::uint64_t count : selection.counts(size_of(dtype), counts)) {
      // What the data are changes nothing here.
      const std::vector<std::string> uniform = {"uniform"};
      const auto& wanted = selection.distributions.empty() ? uniform : selection.distributions;
      for (const std::string_view distribution : ordering_distributions_of(dtype, wanted)) {
        const Input x = ordering_input(dtype, count, distribution);
        const bool two = name.ends_with("dot");
        const Input y = two ? ordering_input(dtype, count, distribution) : Input(dtype, 0);
        for (const ReducingPeer& peer : peers) {
          each_turn(peer, selection, ordering_row(name, x, distribution), [&](Row row, const PeerTurn& turn) {
            if (two) row.bytes *= 2;
            const Reduced reduced = peer.run({turn, name.substr(dash + 1), x.view(), y.view()});
            row.seconds = reduced.kernel;
            row.scratch = reduced.scratch;
            rows.push_back(row);
            if (reduced.call.size() == 0) return;
            row.kind = "call";
            row.seconds = reduced.call;
            rows.push_back(std::move(row));
          });
        }
      }
    }
  }
  return rows;
}

}  // namespace

PeerSuite reducing_peers(std::string suite, std::vector<ReducingPeer> peers, std::vector<std::string_view> counts) {
  const std::string program = peers.front().name;
  return {std::move(suite), program,
          [peers = std::move(peers), counts = std::move(counts)](const Selection& selection,
                                                                 const std::vector<std::string>& only) {
            return measure(named(peers, only), selection, counts);
          }};
}

}  // namespace masu::bench

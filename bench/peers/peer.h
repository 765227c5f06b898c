// SPDX-License-Identifier: Apache-2.0
// What the programs of the peers share: they take the options of `masu bench`, work on the same inputs and write the
// same rows.
#pragma once

#include "harness.h"
#include "histogram_cases.h"
#include "ordering.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace masu::bench {

// One peer in one suite.
struct PeerAbout {
  std::string name;    // with its version
  std::string device;  // "cpu" or "cuda:0"
  std::vector<std::string> cases;
  unsigned most_threads = 1;  // 0: not a CPU
};

// How often, and by how many threads.
struct PeerTurn {
  unsigned threads;
  unsigned repeats;
};

// What a peer gives for one histogram.
struct Measured {
  Samples seconds;
  std::vector<std::uint64_t> counts;
  std::uint64_t scratch = 0;  // bytes of temporary memory, where the peer says how many
};
struct HistogramPeer : PeerAbout {
  struct Task : PeerTurn {
    HistogramCase what;
    ArrayView data;
  };
  std::function<Measured(const Task&)> run;  // a std::runtime_error leaves the row out
};

// What a peer gives for one sort.
struct Sorted {
  Samples kernel;                     // device time, or a CPU's …
  Samples call;                       // … and, of a device, the host's clock until the result is there
  std::vector<std::byte> keys;        // the result: sorted keys; none of argsort
  std::vector<std::uint32_t> values;  // of pairs and argsort
  std::uint64_t scratch = 0;
};
struct SortPeer : PeerAbout {
  struct Task : PeerTurn {
    const SortCase* what;
    ArrayView keys;
    std::vector<std::uint64_t> offsets;
    bool result;  // whether keys and values are wanted
  };
  // What it does as masu: keep the order of equal elements, put NaNs last. Results that could differ are not compared.
  bool stable = true;
  bool nans_last = true;
  std::function<Sorted(const Task&)> run;
};

// What a peer of the suites unique, search and topk works on; it gives its seconds.
struct FindingPeer : PeerAbout {
  struct Task : PeerTurn {
    bool runs;        // run lengths are wanted, else distinct values; of unique alone
    std::uint64_t k;  // elements that are wanted, the greatest first; of topk alone
    ArrayView data;
    ArrayView sorted;  // where the data is sought; of search alone
  };
  std::function<Samples(const Task&)> run;
};

// What a peer of the suites sum, reduce, scan, convert and transpose works on, whose cases begin with the dtype:
// f32-min.
struct Reduced {
  Samples kernel;  // as of a sort
  Samples call;
  std::uint64_t scratch = 0;
};
struct ReducingPeer : PeerAbout {
  struct Task : PeerTurn {
    std::string_view what;  // the case without its dtype: "min"
    ArrayView x;
    ArrayView y;  // as long; of dot products
  };
  std::function<Reduced(const Task&)> run;
};

// A suite that a program of peers measures.
struct PeerSuite {
  std::string name;
  std::string program;  // of the report
  // Measures those whose name has one of `only` in it, all where there is none.
  std::function<std::vector<Row>(const Selection&, const std::vector<std::string>& only)> measure;
};
// `sizes` and `counts` are what is measured unless --size or --count is given.
PeerSuite histogram_peers(std::vector<HistogramPeer> peers, std::vector<std::string_view> sizes);
PeerSuite sort_peers(std::vector<SortPeer> peers, std::vector<std::string_view> counts);
PeerSuite unique_peers(std::vector<FindingPeer> peers, std::vector<std::string_view> counts);
PeerSuite search_peers(std::vector<FindingPeer> peers, std::vector<std::string_view> counts);
PeerSuite topk_peers(std::vector<FindingPeer> peers, std::vector<std::string_view> counts);
// Of the suite of that name.
PeerSuite reducing_peers(std::string suite, std::vector<ReducingPeer> peers, std::vector<std::string_view> counts);

// Calls measure(row, turn) for each number of threads that the peer has, where it has the row's case; what `measure`
// throws leaves the row out.
void each_turn(const PeerAbout& peer, const Selection& selection, Row row,
               const std::function<void(const Row&, const PeerTurn&)>& measure);

// Those whose name has one of `only` in it, all where there is none.
template <class Peer>
std::vector<Peer> named(std::vector<Peer> peers, const std::vector<std::string>& only) {
  std::erase_if(peers, [&](const Peer& peer) {
    return !only.empty() && std::none_of(only.begin(), only.end(), [&](const std::string& text) {
      return peer.name.find(text) != std::string::npos;
    });
  });
  return peers;
}

// The main function of a peer's program, whose first argument is one of the suites.
int peer_main(int argc, char** argv, const std::vector<PeerSuite>& suites);

// Warms up, then times `body` `repeats` times with the host's clock, fewer where it takes long; `prepare` is not timed.
Samples time_repeats(unsigned repeats, const std::function<void()>& body, const std::function<void()>& prepare = {});

}  // namespace masu::bench

// SPDX-License-Identifier: Apache-2.0
// What the programs of the peers share: they take the options of `masu bench`, count the same inputs and write the same
// rows.
#pragma once

#include "harness.h"
#include "inputs.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace masu::bench {

// What a peer gives for one input; nothing where it has no such function.
struct Measured {
  Samples seconds;
  std::vector<std::uint64_t> counts;
  std::uint64_t scratch = 0;  // bytes of temporary memory, where the peer says how many
};

struct Task {
  HistogramCase what;
  ArrayView data;
  unsigned threads;
  unsigned repeats;
};

struct Peer {
  std::string name;    // with its version
  std::string device;  // "cpu" or "cuda:0"
  std::vector<std::string> cases;
  unsigned most_threads = 1;                 // 0: not a CPU
  std::function<Measured(const Task&)> run;  // a std::runtime_error leaves the row out
};

// The main function of a peer's program. `sizes` is what is measured unless --size is given.
int peer_main(int argc, char** argv, std::vector<Peer> peers, std::span<const std::string_view> sizes);

// Warms up, then times `body` `repeats` times with the host's clock.
Samples time_repeats(unsigned repeats, const std::function<void()>& body);

}  // namespace masu::bench

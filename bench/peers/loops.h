// SPDX-License-Identifier: Apache-2.0
// peer_loops: what a programmer has at hand on a CPU.
#pragma once

#include "peer.h"

namespace masu::bench {

PeerSuite counting_loops();   // loops.cpp
PeerSuite standard_sorts();   // sorts.cpp
PeerSuite standard_unique();  // finds.cpp
PeerSuite standard_search();
PeerSuite standard_topk();
std::vector<PeerSuite> plain_reductions();  // reductions.cpp

}  // namespace masu::bench

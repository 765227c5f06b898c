// SPDX-License-Identifier: Apache-2.0
#include "loops.h"

#include <utility>

int main(int argc, char** argv) {
  using namespace masu::bench;
  std::vector<PeerSuite> suites = {counting_loops(), standard_sorts(), standard_unique(), standard_search(),
                                   standard_topk()};
  for (PeerSuite& suite : plain_reductions()) suites.push_back(std::move(suite));
  return peer_main(argc, argv, suites);
}

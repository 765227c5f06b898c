// SPDX-License-Identifier: Apache-2.0
#include "loops.h"

int main(int argc, char** argv) {
  using namespace masu::bench;
  return peer_main(argc, argv,
                   {counting_loops(), standard_sorts(), standard_unique(), standard_search(), standard_topk()});
}

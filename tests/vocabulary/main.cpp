// SPDX-License-Identifier: Apache-2.0
#include "tally.h"

#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  std::fputs(masu::vocabulary::tally().text().c_str(), stdout);
  return status;
}

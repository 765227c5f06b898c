// SPDX-License-Identifier: Apache-2.0
// For tests of what all strategies must give.
#pragma once

#include <masu/histogram.h>

#include <gmock/gmock.h>

#include <string>

namespace masu::test {

// Calls check(strategy) for each strategy; one that does not serve says so. At least `least` of them do.
template <class Check>
void each_strategy(unsigned least, const Check& check) {
  unsigned worked = 0;
  for (const Strategy strategy : {Strategy::global, Strategy::private_, Strategy::local, Strategy::lanes,
                                  Strategy::packed, Strategy::partitioned}) {
    try {
      check(strategy);
      ++worked;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(std::string(to_string(strategy))));
    }
  }
  EXPECT_GE(worked, least);
}

}  // namespace masu::test

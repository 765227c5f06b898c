// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check.h"

#include "check_logs.h"

#include <gtest/gtest.h>

#include <string>

namespace masu::cli {
namespace {

const std::string everything = std::string(invalid_read) + invalid_write + never_set + race + race_of_copy +
                               few_at_barrier + two_barriers + fatal + no_more;

TEST(CheckLog, NothingIsNothing) {
  EXPECT_TRUE(parse_check_log("").findings.empty());
  EXPECT_TRUE(parse_check_log("\n\n\n").findings.empty());
  EXPECT_FALSE(parse_check_log("").cut);
}

TEST(CheckLog, AnAccess) {
  const CheckLog log = parse_check_log(invalid_read);
  ASSERT_EQ(log.findings.size(), 1U);
  const Finding& finding = log.findings[0];
  EXPECT_EQ(finding.headline, "Invalid read of size 4 at global memory address 0x1000000000010");
  EXPECT_EQ(finding.kernel, "f");
  EXPECT_EQ(finding.space, "global");
  EXPECT_EQ(finding.address, 0x1000000000010U);
  ASSERT_EQ(finding.accesses.size(), 1U);
  const Access& access = finding.accesses[0];
  EXPECT_TRUE(access.by_item);
  EXPECT_EQ(access.global, (Access::Id{5, 1, 2}));
  EXPECT_EQ(access.local, (Access::Id{1, 1, 2}));
  EXPECT_EQ(access.group, (Access::Id{2, 0, 0}));
  EXPECT_EQ(access.place.file, "input.cl");
  EXPECT_EQ(access.place.line, 3U);
  EXPECT_EQ(access.place.column, 12U);
  EXPECT_EQ(access.place.text, "uint x = in[i + 4];");
  EXPECT_EQ(access.instruction, "%1 = load i32, i32 addrspace(1)* %arrayidx, align 4, !dbg !39");
}

TEST(CheckLog, BothSidesOfARace) {
  const CheckLog log = parse_check_log(std::string(race) + race_of_copy);
  ASSERT_EQ(log.findings.size(), 2U);
  ASSERT_EQ(log.findings[0].accesses.size(), 2U);
  EXPECT_EQ(log.findings[0].space, "local");
  EXPECT_EQ(log.findings[0].accesses[0].place.line, 4U);
  EXPECT_EQ(log.findings[0].accesses[1].place.line, 6U);
  EXPECT_EQ(log.findings[0].accesses[1].place.text, "");
  EXPECT_EQ(log.findings[0].accesses[1].global, (Access::Id{61, 0, 0}));
  ASSERT_EQ(log.findings[1].accesses.size(), 2U);
  EXPECT_FALSE(log.findings[1].accesses[0].by_item);
  EXPECT_TRUE(log.findings[1].accesses[0].has_group);
  EXPECT_EQ(log.findings[1].accesses[0].group, (Access::Id{3, 0, 0}));
  EXPECT_EQ(log.findings[1].accesses[0].place.line, 0U);
  EXPECT_EQ(log.findings[1].accesses[0].instruction, "");
}

TEST(CheckLog, Barriers) {
  const CheckLog log = parse_check_log(std::string(few_at_barrier) + two_barriers);
  ASSERT_EQ(log.findings.size(), 2U);
  EXPECT_EQ(log.findings[0].detail, "Only 5 out of 32 work-items executed barrier");
  ASSERT_EQ(log.findings[0].accesses.size(), 1U);
  EXPECT_EQ(log.findings[0].accesses[0].group, (Access::Id{1, 2, 3}));
  EXPECT_EQ(log.findings[0].accesses[0].place.line, 8U);
  ASSERT_EQ(log.findings[1].accesses.size(), 2U);
  EXPECT_EQ(log.findings[1].kernel, "f");
  EXPECT_EQ(log.findings[1].accesses[0].place.line, 12U);
  EXPECT_EQ(log.findings[1].accesses[1].place.line, 10U);
  EXPECT_EQ(log.findings[1].accesses[1].group, (Access::Id{4, 0, 0}));
}

TEST(CheckLog, AFatalErrorAndTheEnd) {
  const CheckLog log = parse_check_log(std::string(fatal) + no_more);
  ASSERT_EQ(log.findings.size(), 1U);
  EXPECT_EQ(log.findings[0].detail, "Encountered unreachable instruction");
  EXPECT_EQ(log.findings[0].accesses.at(0).place.line, 14U);
  EXPECT_TRUE(log.cut);
}

TEST(CheckLog, WhatIsNotUnderstoodIsAHeadline) {
  const CheckLog log = parse_check_log("Something new\n\tEntity: Global(x) Local() Group(1\n\tAt line z (column) of\n");
  ASSERT_EQ(log.findings.size(), 1U);
  EXPECT_EQ(log.findings[0].headline, "Something new");
  EXPECT_FALSE(log.findings[0].accesses.at(0).by_item);
  EXPECT_TRUE(parse_check_log("Invalid re").findings.empty());
  EXPECT_EQ(parse_check_log("At global memory address 0xzz\n").findings.at(0).space, "");
  EXPECT_EQ(parse_check_log("global memory address 0x12\n").findings.at(0).address, 0x12U);
}

TEST(CheckLog, ALogThatIsCutAnywhere) {
  const std::size_t whole = parse_check_log(everything).findings.size();
  EXPECT_EQ(whole, 8U);
  for (std::size_t length = 0; length <= everything.size(); ++length) {
    EXPECT_LE(parse_check_log(std::string_view(everything).substr(0, length)).findings.size(), whole);
  }
}

// Any byte may be another: nothing but the findings may change.
TEST(CheckLog, ALogThatIsDamagedAnywhere) {
  for (const char byte : {'\0', '\n', '\t', ' ', '(', ')', '9', ':', '\xff'}) {
    for (std::size_t at = 0; at < everything.size(); ++at) {
      std::string damaged = everything;
      damaged[at] = byte;
      EXPECT_LE(parse_check_log(damaged).findings.size(), 12U);
    }
  }
}

}  // namespace
}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// The test's own machinery: what is wrong is found, and only that.
#include "batch.h"
#include "each_type.h"
#include "known_faults.h"

#include <gmock/gmock.h>

#include <limits>

namespace masu::vocabulary {
namespace {

using ::testing::HasSubstr;

class BatchTest : public EachOpenCl {};
MASU_ON_EACH_OPENCL(BatchTest);

TEST_P(BatchTest, FindsWhatIsWrong) {
  const Batch batch{.family = "none", .lanes = 1};
  const Bytes seven{std::byte{7}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Case> cases{
      {.name = "right", .code = "    out[0] = 7;", .expected = seven},
      {.name = "wrong", .code = "    out[0] = 8;", .expected = seven},
      {.name = "does not compile", .code = "    out[0] = nonsense;", .expected = seven},
      {.name = "writes nothing", .code = "", .expected = seven},
      {.name = "any NaN will do",
       .code = "    ((__global uint *)out)[0] = 0xffc12345;",
       .expected = bytes_of(std::vector<float>{nan}),
       .match = Match::f32},
      {.name = "a number is no NaN",
       .code = "    ((__global float *)out)[0] = 1;",
       .expected = bytes_of(std::vector<float>{nan}),
       .match = Match::f32},
      {.name = "keeps what was there", .code = "    out[0]++;", .expected = seven, .initial = {std::byte{6}}},
  };
  const std::vector<std::string> found = complaints(device, batch, cases);
  ASSERT_EQ(found.size(), cases.size());
  EXPECT_EQ(found[0], "");
  EXPECT_THAT(found[1], HasSubstr("expected 0x07, got 0x08"));
  EXPECT_THAT(found[2], HasSubstr("nonsense"));
  EXPECT_THAT(found[3], HasSubstr("got 0xa5"));
  EXPECT_EQ(found[4], "");
  EXPECT_THAT(found[5], HasSubstr("got 0x3f800000"));
  EXPECT_EQ(found[6], "");
}

TEST(KnownFaults, AreFoundByDeviceFamilyTypeAndName) {
  DeviceInfo pocl;
  pocl.name = "pthread-some-cpu";
  pocl.driver = "3.1+debian, Portable Computing Language OpenCL 3.0";
  EXPECT_NE(find_known_fault(pocl, "printf", "", "\"%.15g\" of 0.1"), nullptr);
  EXPECT_EQ(find_known_fault(pocl, "printf", "", "\"%.15lg\" of 0.1"), nullptr);
  EXPECT_EQ(find_known_fault(pocl, "select", "", "\"%.15g\" of 0.1"), nullptr);
  pocl.driver = "6.0, Portable Computing Language OpenCL 3.0";
  EXPECT_EQ(find_known_fault(pocl, "printf", "", "\"%.15g\" of 0.1"), nullptr) << "another version";
}

}  // namespace
}  // namespace masu::vocabulary

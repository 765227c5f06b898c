// SPDX-License-Identifier: Apache-2.0
#include "runtime/backend.h"

#include <gtest/gtest.h>

#include <string>

namespace masu::runtime {
namespace {

using namespace std::string_literals;
using Kind = KernelParameter::Kind;

ProgramNotes example() {
  return {"warning: 1:2: a log\nof two lines",
          {{"add", {{Kind::buffer, "uint*", "data", 0}, {Kind::value, "uint", "value", 4}}},
           {"none", {}},
           {"odd", {{Kind::other, "", "", 12}, {Kind::local, "float4*", "", 0}}}}};
}

TEST(ProgramNotes, ComeBackAsTheyWere) {
  for (const std::string& binary : {"ELF\0\n3:abc"s, ""s, std::string(100000, '\xff')}) {
    for (const ProgramNotes& notes : {ProgramNotes{}, example()}) {
      const auto back = unpack(pack(notes, binary));
      ASSERT_TRUE(back.has_value());
      EXPECT_EQ(back->binary, binary);
      EXPECT_EQ(back->notes.log, notes.log);
      EXPECT_EQ(back->notes.parameters, notes.parameters);
    }
  }
}

TEST(ProgramNotes, AnythingElseIsNothing) {
  const std::string whole = pack(example(), "binary");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(unpack(whole.substr(0, size))) << size;
  EXPECT_FALSE(unpack(whole + "x"));
  EXPECT_FALSE(unpack("the binary of an older version"));
  const std::string mark = "masu-program-1\n";
  for (const char* text : {"", ":", "0", "-1:", "99999999999999999999:", "18446744073709551615:", "3:ab", "0:1:x",
                           "0:2:-1", "0:1:90:", "0:1:11:f20:9999999999999999999", "0:1:11:f1:11:40:0:1:00:"}) {
    EXPECT_FALSE(unpack(mark + text)) << text;
  }
}

}  // namespace
}  // namespace masu::runtime

// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/build_log.h"

#include <gtest/gtest.h>

namespace masu::opencl {
namespace {

TEST(BuildLog, LinesAreThoseOfTheDirectives) {
  const char* source = "int a;\n#line 41 \"my/file.cl\"\nfirst\nsecond\n#line 7 \"other.cl\"\nthird";
  EXPECT_EQ(with_presumed_lines("<kernel>:4:10: error: b\n<kernel>:6:1: note: c\n1 error", source),
            "my/file.cl:42:10: error: b\nother.cl:7:1: note: c\n1 error");
}

TEST(BuildLog, AnotherMarker) {
  EXPECT_EQ(with_presumed_lines("input.cl:2:3: warning: a\n<kernel>:2: b", "#line 1 \"x.cl\"\nfirst", "input.cl:"),
            "x.cl:1:3: warning: a\n<kernel>:2: b");
}

TEST(BuildLog, OtherTextStays) {
  EXPECT_EQ(with_presumed_lines("<kernel>:1:2: error", "a\nb"), "<kernel>:1:2: error");
  EXPECT_EQ(with_presumed_lines("<kernel>:x <kernel>:", "#line 5 \"f\"\n"), "<kernel>:x <kernel>:");
  EXPECT_EQ(with_presumed_lines("<kernel>:99999999999999999999:", "#line 5 \"f\"\n"), "<kernel>:99999999999999999999:");
  EXPECT_EQ(with_presumed_lines("", ""), "");
  EXPECT_EQ(with_presumed_lines("real.cl:3: error", "#line 9 \"f\"\n"), "real.cl:3: error");
}

TEST(BuildLog, NoiseIsLeftOut) {
  const std::string noise =
      "(): Warning: Function f is a kernel, so overriding noinline attribute. The function may be inlined when called.";
  EXPECT_EQ(without_noise(noise + "\n" + noise + "\n\n"), "");
  EXPECT_EQ(without_noise("a: error\n" + noise + "\n\nb\n"), "a: error\n\nb");
  EXPECT_EQ(without_noise("a\n\n"), "a");
  EXPECT_EQ(without_noise(noise), "");
  EXPECT_EQ(without_noise(""), "");
}

}  // namespace
}  // namespace masu::opencl

// SPDX-License-Identifier: Apache-2.0
#include "io/sources.h"

#include "io/test_files.h"

namespace masu::io::test {
namespace {

TEST(SharedLibrary, SaysWhatIsMissing) {
  SharedLibrary none("XYZ", "libmasu-does-not-exist.so.1", "libxyz1");
  using Function = int (*)(int);
  EXPECT_EQ(none.find<Function>("abs"), nullptr);
  expect_error(ErrorCode::unsupported, "a.xyz: XYZ needs the library libmasu-does-not-exist.so.1 (Debian: libxyz1)",
               [&] { none.require("a.xyz"); });

  SharedLibrary there("C", "libc.so.6", "libc6");
  const auto function = there.find<Function>("abs");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function(-3), 3);
  there.require("a.c");
  EXPECT_EQ(there.find<Function>("masu_does_not_exist"), nullptr);
  expect_error(ErrorCode::unsupported, "libc.so.6 has no function masu_does_not_exist", [&] { there.require("a.c"); });
}

}  // namespace
}  // namespace masu::io::test

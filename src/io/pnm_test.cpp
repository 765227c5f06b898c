// SPDX-License-Identifier: Apache-2.0
#include "io/test_files.h"

namespace masu::io::test {
namespace {

using V8 = std::vector<std::uint8_t>;
using V16 = std::vector<std::uint16_t>;

TEST(Pnm, EveryKind) {
  expect_values<std::uint8_t>("P1\n# a comment\n3 2\n101\n0 1 0\n", V8{1, 0, 1, 0, 1, 0});
  expect_values<std::uint8_t>("P2 3 1 9\n1 # one\n2\n9", V8{1, 2, 9});
  expect_values<std::uint8_t>("P3 1 2 255 1 2 3 4 5 6\n", V8{1, 2, 3, 4, 5, 6});
  expect_values<std::uint8_t>(Bytes("P4 9 2\n\xaa\x80\x55\x00", 11),
                              V8{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
  expect_values<std::uint8_t>(Bytes("P5 2 2 255\n\0\x7f\x80\xff", 15), V8{0, 127, 128, 255});
  expect_values<std::uint8_t>("P6\n1 2\n255\nabcdef", V8{'a', 'b', 'c', 'd', 'e', 'f'});
  expect_values<std::uint8_t>("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabcd",
                              V8{'a', 'b', 'c', 'd'});
  expect_values<std::uint16_t>(Bytes("P5 2 1 1023\n\1\2\3\xff", 16), V16{258, 1023});
  expect_values<std::uint16_t>("P2 2 1 65535 65535 256\n", V16{65535, 256});
}

TEST(Pnm, ManyChannelsAreNamed) {
  EXPECT_EQ(open_bytes("P5 1 1 255\na")->info().channels, std::vector<std::string>{"gray"});
  EXPECT_EQ(open_bytes("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\nab")->info().channels,
            (std::vector<std::string>{"gray", "alpha"}));
  const Bytes colour = "P6 2 1 255 abcdef";
  EXPECT_EQ(open_bytes(colour)->info().channels, (std::vector<std::string>{"red", "green", "blue"}));
  EXPECT_EQ(open_bytes(colour)->info().shape, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(open_bytes(colour)->info().format, "pnm");
}

TEST(Pnm, CutFiles) {
  SourceOptions image;
  image.format = InputFormat::image;
  expect_every_cut_bad("P6 2 2 255\nabcdefghijkl", image);
  expect_every_cut_bad("P5 2 2 65535\nabcdefgh", image);
  expect_every_cut_bad("P4 9 2\nabcd", image);
  expect_every_cut_bad("P1 2 2 1010", image);
  expect_bad("P6 2 2 255\nabcdefghijk", "file ends at byte 22");
}

TEST(Pnm, LiesAndRubbish) {
  expect_error(ErrorCode::io, "the file ends at byte", [] { open_bytes("P5 2147483647 2147483647 255\nabc"); });
  expect_error(ErrorCode::io, "the file ends at byte",
               [] { open_bytes("P5 2147483647 2147483647 255\nabc", {}, false); });
  expect_error(ErrorCode::io, "memory: ", [] { open_bytes("P6 2147483647 2147483647 65535\nabc"); });
  expect_bad("P5 99999999999 1 255\n", "too large");
  expect_bad("P5 0 1 255\n", "0 x 1 pixels");
  expect_bad("P5 1 1 0\na", "1 to 65535");
  expect_bad("P5 1 1 65536\na", "1 to 65535");
  expect_bad("P5 x 1 255\n", "not a number");
  expect_bad("P5 1 1 5\n\x06", "above the largest value 5");
  expect_bad("P2 1 1 5 6\n", "above the largest value 5");
  expect_bad("P2 1 1 5 -1\n", "not a number");
  expect_bad("P1 2 1 12", "neither 0 nor 1");
  expect_bad("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 9\nMAXVAL 255\nENDHDR\nabcd", "depth");
  expect_bad("P7\nWIDTH 1\nFOO 1\nENDHDR\nabcd", "FOO");
}

}  // namespace
}  // namespace masu::io::test

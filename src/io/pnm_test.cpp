// SPDX-License-Identifier: Apache-2.0
#include "io/test_files.h"

#include <bit>
#include <cmath>
#include <limits>

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

TEST(Pnm, Notes) {
  const auto notes = [](const Bytes& bytes, bool known_size = true) {
    const auto source = open_bytes(bytes, {}, known_size);
    read_all(*source);
    source->rewind();
    read_all(*source);  // notes come once
    return source->info().notes;
  };
  using Notes = std::vector<std::string>;
  const std::string bit = "values are 0 to 1 as stored, not scaled to 255";
  const std::string black = "0 is white and 1 black, as stored";
  const std::string more = "read the first image only, another one follows";
  for (const bool known_size : {true, false}) {
    EXPECT_EQ(notes("P5 1 1 255\na", known_size), Notes{});
    EXPECT_EQ(notes("P1 1 1 1\n", known_size), (Notes{bit, black}));
    EXPECT_EQ(notes(Bytes("P4 1 1\n\0", 8), known_size), (Notes{bit, black}));
    EXPECT_EQ(notes("P2 1 1 15 1\n", known_size), Notes{"values are 0 to 15 as stored, not scaled to 255"});
    EXPECT_EQ(notes("P5 1 1 4095\n\1\2", known_size), Notes{"values are 0 to 4095 as stored, not scaled to 65535"});
    EXPECT_EQ(notes("P5 1 1 65535\nab", known_size), Notes{});
    EXPECT_EQ(notes("P5 1 1 255\naP5 1 1 255\na", known_size), Notes{more});
    EXPECT_EQ(notes("P5 1 1 255\naP6 1 1 255\nabc", known_size), Notes{more});
    EXPECT_EQ(notes("P3 1 1 255 1 2 3\nP3 1 1 255 1 2 3", known_size), Notes{more});
    EXPECT_EQ(notes("P5 1 1 255\nabcdef", known_size), Notes{});
    const Bytes pam = "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\na";
    EXPECT_EQ(notes(pam, known_size), Notes{});
    EXPECT_EQ(notes(pam + pam, known_size), Notes{more});
    EXPECT_EQ(notes("P4 1 1\naP4 1 1\na", known_size), (Notes{bit, black, more}));
  }
  const Bytes two = "P5 1 2 255\nabP5 1 2 255\nab";
  EXPECT_EQ(open_bytes(two)->info().notes, Notes{more});  // also where the image is not read to its end
}

Bytes floats(const std::vector<float>& values, bool big_endian = false) {
  Bytes out;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    out += big_endian ? big(bits, 4) : little(bits, 4);
  }
  return out;
}

TEST(Pfm, RowsComeFromTheTop) {
  using F = std::vector<float>;
  const float infinity = std::numeric_limits<float>::infinity();
  const F stored = {3, -4.5F, infinity, 1, 2, 1e-40F};  // the lower row first
  const F expected = {1, 2, 1e-40F, 3, -4.5F, infinity};
  expect_values<float>("Pf\n3 2\n-1.0\n" + floats(stored), expected);
  expect_values<float>("Pf\n3 2\n1\n" + floats(stored, true), expected);
  expect_values<float>("Pf 3\n2 -1e0\r" + floats(stored), expected);
  expect_values<float>("PF\n1 2\n-1\n" + floats(stored), F{1, 2, 1e-40F, 3, -4.5F, infinity});
  const Bytes colour = "PF\n2 1\n-1\n" + floats(stored);
  EXPECT_EQ(open_bytes(colour)->info().channels, (std::vector<std::string>{"red", "green", "blue"}));
  EXPECT_EQ(open_bytes(colour)->info().shape, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(open_bytes(colour)->info().format, "pfm");
  EXPECT_TRUE(open_bytes(colour)->info().notes.empty());
  const Bytes nan = "Pf\n1 1\n-1\n" + floats({std::numeric_limits<float>::quiet_NaN()});
  EXPECT_TRUE(std::isnan(values<float>(*open_bytes(nan))[0]));
}

TEST(Pfm, Notes) {
  const auto notes = [](const Bytes& bytes, bool known_size) {
    const auto source = open_bytes(bytes, {}, known_size);
    read_all(*source);
    return source->info().notes;
  };
  for (const bool known_size : {true, false}) {
    const Bytes scaled = "Pf\n1 1\n-2.5\n" + floats({0.1F});
    EXPECT_EQ(notes(scaled, known_size),
              std::vector<std::string>{"values are as stored, not multiplied by the scale 2.5"});
    EXPECT_EQ(values<float>(*open_bytes(scaled)), std::vector<float>{0.1F});
    const Bytes one = "Pf\n1 1\n-1\n" + floats({0.1F});
    EXPECT_EQ(notes(one + one, known_size), std::vector<std::string>{"read the first image only, another one follows"});
  }
}

TEST(Pfm, TextsThatBeginAlike) {
  for (const Bytes text : {"PF\n12\n13\n14\n1.5\n", "Pf\n1\n2\n3\n", "PF x\n1\n2\n", "Pfennig\n1 2\n3\n"})
    EXPECT_EQ(open_bytes(text)->info().format, "text") << text;
}

TEST(Pfm, LiesAndCuts) {
  SourceOptions image;
  image.format = InputFormat::image;
  expect_every_cut_bad("PF\n2 2\n-1\n" + floats(std::vector<float>(12, 1)), image);
  expect_bad("Pf\n2 2\n-1.0\n", "truncated");
  for (const bool known_size : {true, false}) {
    expect_bad("PF\n2147483647 2147483647\n-1\nabc", "", image, known_size);
    expect_bad("PF\n99999999999999999999 1\n-1\nabc", "", image, known_size);
    expect_bad("PF\n0 1\n-1\nabcd", "", image, known_size);
    expect_bad("PF\n1 1\n0\nabcdabcdabcd", "", image, known_size);
    expect_bad("PF\n1 1\nnan\nabcdabcdabcd", "", image, known_size);
  }
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

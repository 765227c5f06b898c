// SPDX-License-Identifier: Apache-2.0
#include "io/test_files.h"

namespace masu::io::test {
namespace {

using V = std::vector<std::uint8_t>;

struct Bmp {
  int width = 1;
  int height = 1;
  unsigned bits = 24;
  unsigned compression = 0;
  Bytes palette = {};  // or masks behind a 40-byte header
  unsigned used = 0;
  Bytes pixels = {};
  unsigned header = 40;
  Bytes extra = {};  // of headers above 40 bytes

  [[nodiscard]] Bytes bytes() const {
    Bytes info;
    if (header == 12)
      info = little(12, 4) + little(static_cast<unsigned>(width), 2) + little(static_cast<unsigned>(height), 2) +
             little(1, 2) + little(bits, 2);
    else
      info = little(header, 4) + little(static_cast<unsigned>(width), 4) + little(static_cast<unsigned>(height), 4) +
             little(1, 2) + little(bits, 2) + little(compression, 4) + little(pixels.size(), 4) + little(0, 8) +
             little(used, 4) + little(0, 4) + extra;
    info.resize(header);
    const std::size_t data = 14 + info.size() + palette.size();
    return "BM" + little(data + pixels.size(), 4) + little(0, 4) + little(data, 4) + info + palette + pixels;
  }
};

Bytes grays(unsigned count, unsigned step) {
  Bytes out;
  for (unsigned i = 0; i < count; ++i) out += Bytes(3, static_cast<char>(i * step)) + '\0';
  return out;
}
const Bytes colours =
    Bytes("\x01\x02\x03\0", 4) + Bytes("\x04\x05\x06\0", 4) + Bytes("\x07\x08\x09\0", 4) + Bytes("\x0a\x0b\x0c\0", 4);

// 8 bits a pixel in runs, of four grays.
Bytes in_runs(int width, int height, const Bytes& pixels) {
  return Bmp{.width = width,
             .height = height,
             .bits = 8,
             .compression = 1,
             .palette = grays(4, 10),
             .used = 4,
             .pixels = pixels}
      .bytes();
}

SourceOptions image_only() {
  SourceOptions options;
  options.format = InputFormat::image;
  return options;
}

TEST(Bmp, TwentyFourBitsBottomUpAndTopDown) {
  Bmp bmp{.width = 3, .height = 2, .pixels = Bytes("abcdefghi\0\0\0jklmnopqr\0\0\0", 24)};
  const V expected = {'l', 'k', 'j', 'o', 'n', 'm', 'r', 'q', 'p', 'c', 'b', 'a', 'f', 'e', 'd', 'i', 'h', 'g'};
  expect_values<std::uint8_t>(bmp.bytes(), expected);
  const auto good = bmp.bytes();
  const auto source = open_bytes(good);
  EXPECT_EQ(source->info().format, "bmp");
  EXPECT_EQ(source->info().shape, (std::vector<std::uint64_t>{2, 3, 3}));
  EXPECT_EQ(source->info().channels, (std::vector<std::string>{"red", "green", "blue"}));
  EXPECT_EQ(source->info().count, 18U);
  bmp.height = -2;
  const V turned = {'c', 'b', 'a', 'f', 'e', 'd', 'i', 'h', 'g', 'l', 'k', 'j', 'o', 'n', 'm', 'r', 'q', 'p'};
  expect_values<std::uint8_t>(bmp.bytes(), turned);
  // The padding of the last row may be missing, more may not.
  bmp.pixels.resize(21);
  expect_values<std::uint8_t>(bmp.bytes(), turned);
  expect_every_cut_bad(bmp.bytes(), image_only());
}

TEST(Bmp, Palettes) {
  expect_values<std::uint8_t>(
      Bmp{.width = 5, .bits = 1, .palette = grays(2, 255), .pixels = Bytes("\xa8\0\0\0", 4)}.bytes(), V{1, 0, 1, 0, 1});
  expect_values<std::uint8_t>(
      Bmp{.width = 3, .bits = 4, .palette = grays(16, 17), .pixels = Bytes("\x1f\x20\0\0", 4)}.bytes(), V{17, 255, 34});
  expect_values<std::uint8_t>(
      Bmp{.width = 3, .bits = 8, .palette = grays(256, 1), .pixels = Bytes("\x00\x80\xff\0", 4)}.bytes(),
      V{0, 128, 255});
  const Bytes coloured =
      Bmp{.width = 2, .bits = 8, .palette = colours, .used = 4, .pixels = Bytes("\x03\x00\0\0", 4)}.bytes();
  expect_values<std::uint8_t>(coloured, V{12, 11, 10, 3, 2, 1});
  EXPECT_EQ(open_bytes(coloured)->info().channels.size(), 3U);
  EXPECT_EQ(open_bytes(Bmp{.width = 1, .bits = 8, .palette = grays(4, 3), .used = 4, .pixels = Bytes(4, '\0')}.bytes())
                ->info()
                .channels,
            std::vector<std::string>{"gray"});
  expect_bad(Bmp{.width = 1, .bits = 8, .palette = colours, .used = 4, .pixels = Bytes("\x04\0\0\0", 4)}.bytes(),
             "palette index 4");
  expect_bad(Bmp{.width = 1, .bits = 4, .palette = colours, .used = 17, .pixels = Bytes(4, '\0')}.bytes(),
             "17 palette entries");
  expect_bad(Bmp{.width = 1, .bits = 8, .pixels = Bytes(4, '\0')}.bytes(), "no palette");
}

TEST(Bmp, BlackAndWhiteIsOfOneBit) {
  const auto of_bit = [](const Bytes& palette) {
    return Bmp{.width = 5, .bits = 1, .palette = palette, .pixels = Bytes("\xa8\0\0\0", 4)}.bytes();
  };
  const std::vector<std::string> said = {"values are 0 to 1 as stored, not scaled to 255"};
  EXPECT_EQ(open_bytes(of_bit(grays(2, 255)))->info().notes, said);
  EXPECT_EQ(open_bytes(of_bit(grays(2, 255)))->info().largest, 1U);
  const Bytes turned = Bytes("\xff\xff\xff\0\0\0\0\0", 8);
  expect_values<std::uint8_t>(of_bit(turned), V{0, 1, 0, 1, 0});
  EXPECT_EQ(open_bytes(of_bit(turned))->info().notes, said);
  expect_values<std::uint8_t>(of_bit(grays(2, 100)), V{100, 0, 100, 0, 100});
  expect_values<std::uint8_t>(of_bit(grays(2, 0)), V{0, 0, 0, 0, 0});
  EXPECT_TRUE(open_bytes(of_bit(grays(2, 100)))->info().notes.empty());
  const Bytes two = Bmp{.width = 5, .bits = 2, .palette = grays(4, 85), .pixels = Bytes("\x1b\x40\0\0", 4)}.bytes();
  expect_values<std::uint8_t>(two, V{0, 85, 170, 255, 85});
  EXPECT_TRUE(open_bytes(two)->info().notes.empty());
}

TEST(Bmp, OldAndNewHeaders) {
  expect_values<std::uint8_t>(Bmp{.width = 1, .pixels = Bytes("abc\0", 4), .header = 12}.bytes(), V{'c', 'b', 'a'});
  expect_values<std::uint8_t>(
      Bmp{.width = 2, .bits = 1, .palette = "abcdef", .pixels = Bytes("\x40\0\0\0", 4), .header = 12}.bytes(),
      V{'c', 'b', 'a', 'f', 'e', 'd'});
  for (const unsigned header : {52U, 56U, 64U, 108U, 124U})
    expect_values<std::uint8_t>(Bmp{.width = 1, .pixels = Bytes("abc\0", 4), .header = header}.bytes(),
                                V{'c', 'b', 'a'});
  expect_bad(Bmp{.width = 1, .pixels = Bytes("abc\0", 4), .header = 44}.bytes(), "header of 44 bytes");
}

TEST(Bmp, SixteenAndThirtyTwoBits) {
  // 5 bits are stretched to 8: 31 -> 255, 1 -> 8, 16 -> 132.
  expect_values<std::uint8_t>(Bmp{.width = 2, .bits = 16, .pixels = little(0x7c01, 2) + little(0x0200, 2)}.bytes(),
                              V{255, 0, 8, 0, 132, 0});
  const Bytes masks565 = little(0xf800, 4) + little(0x7e0, 4) + little(0x1f, 4);
  expect_values<std::uint8_t>(Bmp{.width = 2,
                                  .bits = 16,
                                  .compression = 3,
                                  .palette = masks565,
                                  .pixels = little(0xffe0, 2) + little(0x0020, 2)}
                                  .bytes(),
                              V{255, 255, 0, 0, 4, 0});
  expect_values<std::uint8_t>(Bmp{.width = 1, .bits = 32, .pixels = "abcd"}.bytes(), V{'c', 'b', 'a'});
  const Bytes rgba = little(0xff, 4) + little(0xff00, 4) + little(0xff0000, 4) + little(0xff000000, 4);
  const Bytes alpha =
      Bmp{.width = 1, .bits = 32, .compression = 3, .pixels = "abcd", .header = 108, .extra = rgba}.bytes();
  expect_values<std::uint8_t>(alpha, V{'a', 'b', 'c', 'd'});
  EXPECT_EQ(open_bytes(alpha)->info().channels.back(), "alpha");
  const Bytes ten = little(0x3ff00000, 4) + little(0xffc00, 4) + little(0x3ff, 4);
  expect_values<std::uint8_t>(
      Bmp{.width = 1, .bits = 32, .compression = 3, .palette = ten, .pixels = little(1023U << 20 | 512U << 10 | 2, 4)}
          .bytes(),
      V{255, 128, 0});
  const Bytes torn = little(0xf0f, 4) + little(0, 4) + little(0, 4);
  expect_bad(Bmp{.width = 1, .bits = 32, .compression = 3, .palette = torn, .pixels = "abcd"}.bytes(), "bit mask");
}

TEST(Bmp, RunLengths) {
  // Two rows of 4: the lower "1 1 1 2", the upper one from a literal, then a skip.
  const Bytes codes =
      Bytes("\x03\x01\x01\x02\x00\x00", 6) + Bytes("\x00\x03\x03\x02\x01\x00", 6) + Bytes("\x00\x01", 2);
  const Bytes rle8 = in_runs(4, 2, codes);
  expect_values<std::uint8_t>(rle8, V{30, 20, 10, 0, 10, 10, 10, 20});
  expect_every_cut_bad(rle8, image_only());
  const Bytes skip = Bytes("\x01\x01\x00\x02\x01\x01\x01\x02\x00\x01", 10);
  expect_values<std::uint8_t>(in_runs(4, 3, skip), V{0, 0, 0, 0, 0, 0, 20, 0, 10, 0, 0, 0});
  const Bytes four = Bytes("\x05\x12\x00\x00\x00\x03\x32\x10\x00\x01", 10);
  expect_values<std::uint8_t>(
      Bmp{.width = 5, .height = 2, .bits = 4, .compression = 2, .palette = grays(4, 10), .used = 4, .pixels = four}
          .bytes(),
      V{30, 20, 10, 0, 0, 10, 20, 10, 20, 10});
  // Codes beyond the end of a row are cut; codes below the last row are an error.
  expect_values<std::uint8_t>(in_runs(3, 1, Bytes("\x04\x01\0\0\0\1", 6)), V{10, 10, 10});
  expect_values<std::uint8_t>(in_runs(3, 2, Bytes("\x04\x01\0\0\0\4\2\3\1\2\0\1", 12)), V{20, 30, 10, 10, 10, 10});
  expect_values<std::uint8_t>(Bmp{.width = 3,
                                  .height = 2,
                                  .bits = 4,
                                  .compression = 2,
                                  .palette = grays(4, 10),
                                  .used = 4,
                                  .pixels = Bytes("\x05\x12\0\0\0\4\x32\x11\0\1", 10)}
                                  .bytes(),
                              V{30, 20, 10, 10, 20, 10});
  expect_bad(in_runs(4, 1, Bytes("\x04\x01\0\0\x01\x01\0\1", 8)), "a run leaves the image");
  expect_bad(in_runs(4, 1, Bytes("\0\2\5\0\0\1", 6)), "a skip leaves the image");
  expect_bad(in_runs(0x7fffffff, 0x7fffffff, Bytes("\0\1", 2)), "its runs end");
}

TEST(Bmp, Lies) {
  for (const unsigned bits : {1U, 8U, 24U, 32U}) {
    Bmp bmp{.width = 0x7fffffff,
            .height = 0x7fffffff,
            .bits = bits,
            .palette = bits <= 8 ? grays(2, 1) : "",
            .used = bits <= 8 ? 2U : 0U,
            .pixels = Bytes(40, '\0')};
    expect_error(ErrorCode::io, "memory: ", [&] { open_bytes(bmp.bytes()); });
    expect_error(ErrorCode::io, "memory: ", [&] { open_bytes(bmp.bytes(), {}, false); });
  }
  expect_bad(Bmp{.width = 0, .pixels = Bytes(4, '\0')}.bytes(), "0 x 1 pixels");
  expect_bad(Bmp{.height = 0, .pixels = Bytes(4, '\0')}.bytes(), "1 x 0 pixels");
  expect_bad(Bmp{.width = -5, .pixels = Bytes(4, '\0')}.bytes(), "-5 x 1 pixels");
  expect_bad(Bmp{.bits = 7, .pixels = Bytes(4, '\0')}.bytes(), "7 bits a pixel");
  expect_bad(Bmp{.bits = 24, .compression = 4, .pixels = Bytes(4, '\0')}.bytes(), "compression 4");
  Bytes inside = Bmp{.pixels = Bytes(4, '\0')}.bytes();
  inside[10] = 20;
  expect_bad(inside, "begin inside the header");
  expect_bad(Bytes("BM\0\0\0\0", 6), "truncated");
  expect_error(ErrorCode::invalid_argument, "asked for", [] {
    SourceOptions options;
    options.dtype = Dtype::f32;
    const Bytes bytes = Bmp{.pixels = Bytes(4, '\0')}.bytes();
    open_bytes(bytes, options);
  });
}

}  // namespace
}  // namespace masu::io::test

// SPDX-License-Identifier: Apache-2.0
#include "io/picture.h"
#include "io/test_files.h"

namespace masu::io::test {
namespace {

using V8 = std::vector<std::uint8_t>;
using V16 = std::vector<std::uint16_t>;

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

Bytes chunk(const Bytes& kind, const Bytes& data) {
  return big(data.size(), 4) + kind + data + big(crc32(kind + data), 4);
}

// zlib without compression.
Bytes stored(std::string_view data) {
  Bytes out = "\x78\x01";
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : data) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  do {
    const std::size_t length = std::min<std::size_t>(data.size(), 65535);
    out += Bytes(1, length == data.size() ? '\1' : '\0') + little(length, 2) + little(~length & 0xffff, 2);
    out += data.substr(0, length);
    data.remove_prefix(length);
  } while (!data.empty());
  return out + big(b << 16 | a, 4);
}

struct Png {
  unsigned width = 1;
  unsigned height = 1;
  unsigned depth = 8;
  unsigned colour = 0;
  Bytes rows = {};    // with a filter byte before each
  Bytes chunks = {};  // PLTE, tRNS
  bool interlaced = false;

  [[nodiscard]] Bytes bytes() const {
    return "\x89PNG\r\n\x1a\n" +
           chunk("IHDR", big(width, 4) + big(height, 4) + Bytes{char(depth), char(colour), 0, 0, char(interlaced)}) +
           chunks + chunk("IDAT", stored(rows)) + chunk("IEND", "");
  }
};

TEST(Png, GrayDepthsKeepTheirValues) {
  expect_values<std::uint8_t>(Png{.width = 5, .depth = 1, .rows = Bytes("\0\xa8", 2)}.bytes(), V8{1, 0, 1, 0, 1});
  expect_values<std::uint8_t>(Png{.width = 3, .depth = 2, .rows = Bytes("\0\x1b", 2)}.bytes(), V8{0, 1, 2});
  expect_values<std::uint8_t>(Png{.width = 3, .depth = 4, .rows = Bytes("\0\x1f\x20", 3)}.bytes(), V8{1, 15, 2});
  expect_values<std::uint8_t>(Png{.width = 2, .height = 2, .rows = Bytes("\0ab\0cd", 6)}.bytes(),
                              V8{'a', 'b', 'c', 'd'});
  expect_values<std::uint16_t>(Png{.width = 2, .depth = 16, .rows = Bytes("\0\1\2\xff\0", 5)}.bytes(),
                               V16{258, 0xff00});
  // Filter 1 (differences to the left).
  expect_values<std::uint8_t>(Png{.width = 3, .rows = Bytes("\1\x0a\1\1", 4)}.bytes(), V8{10, 11, 12});
}

TEST(Png, Colours) {
  const Bytes rgba = Png{.width = 1, .colour = 6, .rows = Bytes("\0abcd", 5)}.bytes();
  expect_values<std::uint8_t>(rgba, V8{'a', 'b', 'c', 'd'});
  EXPECT_EQ(open_bytes(rgba)->info().channels, (std::vector<std::string>{"red", "green", "blue", "alpha"}));
  EXPECT_EQ(open_bytes(rgba)->info().format, "png");
  expect_values<std::uint8_t>(Png{.width = 2, .colour = 2, .rows = Bytes("\0abcdef", 7)}.bytes(),
                              V8{'a', 'b', 'c', 'd', 'e', 'f'});
  const Bytes gray_alpha = Png{.width = 1, .colour = 4, .rows = Bytes("\0ab", 3)}.bytes();
  expect_values<std::uint8_t>(gray_alpha, V8{'a', 'b'});
  EXPECT_EQ(open_bytes(gray_alpha)->info().channels, (std::vector<std::string>{"gray", "alpha"}));
  expect_values<std::uint16_t>(Png{.width = 1, .depth = 16, .colour = 2, .rows = Bytes("\0\0\1\0\2\0\3", 7)}.bytes(),
                               V16{1, 2, 3});
  const Bytes palette = chunk("PLTE", "abcdef");
  expect_values<std::uint8_t>(
      Png{.width = 3, .depth = 1, .colour = 3, .rows = Bytes("\0\xa0", 2), .chunks = palette}.bytes(),
      V8{'d', 'e', 'f', 'a', 'b', 'c', 'd', 'e', 'f'});
}

TEST(Png, PaletteIndexOutOfRange) {
  const Bytes palette = chunk("PLTE", "abcdefghi");
  const Bytes rows("\0\x1b", 2);  // 0 1 2 3
  expect_bad(Png{.width = 4, .depth = 2, .colour = 3, .rows = rows, .chunks = palette}.bytes(),
             "png: a pixel has palette index 3, but there are 3");
  expect_values<std::uint8_t>(Png{.width = 3, .depth = 2, .colour = 3, .rows = rows, .chunks = palette}.bytes(),
                              V8{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'});
  for (const bool interlaced : {false, true})
    for (const Bytes& transparent : {Bytes(), chunk("tRNS", "\x07")})
      expect_bad(Png{.colour = 3, .rows = Bytes("\0\xff", 2), .chunks = palette + transparent, .interlaced = interlaced}
                     .bytes(),
                 "palette index 255");
  expect_values<std::uint8_t>(Png{.width = 2,
                                  .depth = 4,
                                  .colour = 3,
                                  .rows = Bytes("\0\x20", 2),
                                  .chunks = palette + chunk("tRNS", Bytes("\x07\0\x09", 3)),
                                  .interlaced = false}
                                  .bytes(),
                              V8{'g', 'h', 'i', 9, 'a', 'b', 'c', 7});
}

// EXIF data of one tag.
Bytes exif(unsigned orientation, bool big_endian) {
  const auto number = [&](unsigned value, int bytes) { return big_endian ? big(value, bytes) : little(value, bytes); };
  return (big_endian ? "MM" : "II") + number(42, 2) + number(8, 4) + number(1, 2) + number(0x112, 2) + number(3, 2) +
         number(1, 4) + number(orientation, 2) + number(0, 2) + number(0, 4);
}

TEST(Png, Notes) {
  using Notes = std::vector<std::string>;
  const auto notes = [](const Png& png) {
    const Bytes bytes = png.bytes();
    const auto source = open_bytes(bytes, {}, false);
    read_all(*source);
    EXPECT_EQ(source->info().notes, open_bytes(bytes)->info().notes);
    return source->info().notes;
  };
  const Png plain{.rows = Bytes("\0a", 2)};
  EXPECT_EQ(notes(plain), Notes{});
  for (const unsigned depth : {1U, 2U, 4U}) {
    const unsigned largest = (1U << depth) - 1;
    const Png png{.depth = depth, .rows = Bytes("\0\0", 2)};
    EXPECT_EQ(notes(png), Notes{"values are 0 to " + std::to_string(largest) + " as stored, not scaled to 255"});
    EXPECT_EQ(open_bytes(png.bytes())->info().largest, largest);
  }
  EXPECT_EQ(notes(Png{.depth = 1, .colour = 3, .rows = Bytes("\0\0", 2), .chunks = chunk("PLTE", "abc")}), Notes{});
  for (const bool big_endian : {false, true}) {
    for (unsigned orientation = 0; orientation < 10; ++orientation) {
      Png png = plain;
      png.chunks = chunk("eXIf", exif(orientation, big_endian));
      const std::string said = "rows are read as stored; orientation " + std::to_string(orientation) +
                               " of the file asks viewers to turn or mirror them";
      EXPECT_EQ(notes(png), orientation < 2 || orientation > 8 ? Notes{} : Notes{said});
    }
  }
  Png animated = plain;
  animated.chunks = chunk("acTL", big(3, 4) + big(0, 4));
  EXPECT_EQ(notes(animated), Notes{"read the first image of an animation of 3 frames"});
  animated.chunks = chunk("acTL", big(1, 4) + big(0, 4));
  EXPECT_EQ(notes(animated), Notes{});
  const Bytes whole = exif(6, true);
  for (std::size_t length = 0; length < whole.size(); ++length) {  // what ends early says nothing, or is right
    animated.chunks = chunk("eXIf", whole.substr(0, length));
    EXPECT_LE(notes(animated).size(), 1U);
  }
}

TEST(Png, AlphaIsLeftOutOnRequest) {
  SourceOptions opaque;
  opaque.alpha = false;
  const Bytes rgba = Png{.width = 2, .colour = 6, .rows = Bytes("\0abcdefgh", 9)}.bytes();
  expect_values<std::uint8_t>(rgba, V8{'a', 'b', 'c', 'e', 'f', 'g'}, opaque);
  const auto source = open_bytes(rgba, opaque);
  EXPECT_EQ(source->info().channels, (std::vector<std::string>{"red", "green", "blue"}));
  EXPECT_EQ(source->info().shape, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(source->info().count, 6U);
  EXPECT_EQ(source->info().notes, std::vector<std::string>{"alpha is left out (--alpha reads it)"});
  expect_values<std::uint16_t>(Png{.width = 1, .depth = 16, .colour = 4, .rows = Bytes("\0\1\2\3\4", 5)}.bytes(),
                               V16{0x102}, opaque);
  const Bytes keyed = Png{.width = 2, .rows = Bytes("\0ab", 3), .chunks = chunk("tRNS", Bytes("\0a", 2))}.bytes();
  expect_values<std::uint8_t>(keyed, V8{'a', 'b'}, opaque);
  const Bytes gray = Png{.width = 2, .rows = Bytes("\0ab", 3)}.bytes();
  expect_values<std::uint8_t>(gray, V8{'a', 'b'}, opaque);
  EXPECT_TRUE(open_bytes(gray, opaque)->info().notes.empty());
  V8 many;
  Png large{.width = 300, .height = 200, .colour = 4};
  for (unsigned y = 0; y < large.height; ++y) {
    large.rows += '\0';
    for (unsigned x = 0; x < large.width; ++x) {
      many.push_back(static_cast<std::uint8_t>(x + y));
      large.rows += Bytes{static_cast<char>(x + y), '\x7f'};
    }
  }
  expect_values<std::uint8_t>(large.bytes(), many, opaque);
}

TEST(Png, TransparentColoursBecomeAlpha) {
  const Bytes palette = chunk("PLTE", "abcdef") + chunk("tRNS", "\x07");
  expect_values<std::uint8_t>(Png{.width = 2, .colour = 3, .rows = Bytes("\0\1\0", 3), .chunks = palette}.bytes(),
                              V8{'d', 'e', 'f', 255, 'a', 'b', 'c', 7});
  const Bytes gray = Png{.width = 3,
                         .height = 2,
                         .depth = 2,
                         .rows = Bytes("\0\x1b\0\xe4", 4),
                         .chunks = chunk("tRNS", Bytes("\0\2", 2))}
                         .bytes();
  expect_values<std::uint8_t>(gray, V8{0, 3, 1, 3, 2, 0, 3, 3, 2, 0, 1, 3});
  expect_values<std::uint8_t>(
      Png{.width = 2, .rows = Bytes("\0ab", 3), .chunks = chunk("tRNS", Bytes("\0a", 2))}.bytes(),
      V8{'a', 0, 'b', 255});
  expect_values<std::uint8_t>(
      Png{.width = 2, .colour = 2, .rows = Bytes("\0abcdef", 7), .chunks = chunk("tRNS", Bytes("\0a\0b\0c", 6))}
          .bytes(),
      V8{'a', 'b', 'c', 0, 'd', 'e', 'f', 255});
}

TEST(Png, Interlaced) {
  // The seven passes of Adam7 over a picture whose pixel (x, y) is 16 y + x.
  constexpr std::array<std::array<unsigned, 4>, 7> passes = {
      {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
  for (const auto& [width, height] : {std::pair{9U, 11U}, {1U, 1U}, {3U, 2U}, {16U, 5U}}) {
    Png png{.width = width, .height = height, .interlaced = true};
    V8 expected;
    for (const auto& [x0, y0, dx, dy] : passes) {
      for (unsigned y = y0; y < height; y += dy) {
        if (x0 < width) png.rows += '\0';
        for (unsigned x = x0; x < width; x += dx) png.rows += static_cast<char>(16 * y + x);
      }
    }
    for (unsigned y = 0; y < height; ++y)
      for (unsigned x = 0; x < width; ++x) expected.push_back(static_cast<std::uint8_t>(16 * y + x));
    expect_values<std::uint8_t>(png.bytes(), expected);
  }
}

TEST(Png, CutAndDamagedFiles) {
  SourceOptions image;
  image.format = InputFormat::image;
  const Bytes good = Png{.width = 2, .height = 2, .rows = Bytes("\0ab\0cd", 6)}.bytes();
  expect_every_cut_bad(good, image);
  expect_bad(good.substr(0, good.size() - 20), "truncated: the file ends at byte " + std::to_string(good.size() - 20));
  Bytes damaged = good;
  damaged[45] ^= 1;
  expect_bad(damaged, "png: ");
  for (std::size_t at = 8; at < good.size(); ++at) {
    Bytes flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
    expect_error(ErrorCode::io, "memory: ", [&] { read_all(*open_bytes(flipped, image)); });
  }
}

TEST(Png, AnErrorStaysAnError) {
  const Bytes good = Png{.width = 2, .height = 2, .rows = Bytes("\0ab\0cd", 6)}.bytes();
  const Bytes cut = good.substr(0, 50);
  auto source = open_bytes(cut);
  V8 data(4);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(source->read(data.data(), 4), Error);
}

TEST(Png, Lies) {
  for (const bool known_size : {true, false}) {
    for (const bool interlaced : {false, true}) {
      const Bytes bytes = Png{.width = 0x7fffffff,
                              .height = 0x7fffffff,
                              .depth = 16,
                              .colour = 6,
                              .rows = Bytes(64, '\0'),
                              .interlaced = interlaced}
                              .bytes();
      expect_bad(bytes, "", {}, known_size);
    }
  }
  expect_bad(Png{.width = 0, .rows = Bytes(2, '\0')}.bytes(), "0 x 1 pixels");
  expect_bad(Png{.depth = 3, .rows = Bytes(2, '\0')}.bytes(), "not known");
  expect_bad(Png{.colour = 5, .rows = Bytes(2, '\0')}.bytes(), "not known");
  expect_bad(Png{.width = 4, .height = 4, .rows = Bytes("\0ab", 3)}.bytes(), "png: ");
}

TEST(Png, WhatIsWrittenIsRead) {
  for (const auto& [width, height] :
       std::initializer_list<std::pair<unsigned, unsigned>>{{1, 1}, {2, 1}, {1, 7}, {67, 31}, {1, 70001}}) {
    for (const unsigned channels : {1U, 3U}) {
      Picture picture{width, height, channels, {}};
      for (std::size_t i = 0; i < std::size_t{width} * height * channels; ++i)
        picture.samples.push_back(static_cast<std::uint8_t>(i * i / 7));
      for (const Bytes& bytes : {png_of(picture), pnm_of(picture)}) {
        expect_values<std::uint8_t>(bytes, picture.samples);
        const std::vector<std::uint64_t> shape = {height, width, channels};
        EXPECT_EQ(open_bytes(bytes)->info().shape, shape);
      }
    }
  }
  expect_error(ErrorCode::io, "a picture of 3000000000 x 1 x 1 cannot be written", [] {
    (void)png_of({3000000000, 1, 1, {}});
  });
}

}  // namespace
}  // namespace masu::io::test

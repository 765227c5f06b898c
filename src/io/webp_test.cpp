// SPDX-License-Identifier: Apache-2.0
#include <webp/decode.h>
#include <webp/encode.h>

#include <random>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

using V8 = std::vector<std::uint8_t>;
using Names = std::vector<std::string>;

SourceOptions webp_only() {
  SourceOptions options;
  options.format = InputFormat::image;
  return options;
}

// Neighbours differ a little; alpha is never 0, where encoders drop the colour.
V8 picture(int width, int height, int channels, unsigned noise = 3) {
  std::mt19937 random(static_cast<unsigned>(width * 100 + height));
  V8 out;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        out.push_back(static_cast<std::uint8_t>(20 + 30 * c + 2 * ((x + y) % 50) + static_cast<int>(random() % noise)));
  return out;
}

Bytes taken(std::uint8_t* file, std::size_t length) {
  Bytes bytes(reinterpret_cast<const char*>(file), length);
  WebPFree(file);
  return bytes;
}

Bytes lossless(const V8& pixels, int width, int height, int channels) {
  std::uint8_t* file = nullptr;
  const auto encode = channels == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB;
  const std::size_t length = encode(pixels.data(), width, height, width * channels, &file);
  return taken(file, length);
}

Bytes lossy(const V8& pixels, int width, int height, int channels) {
  std::uint8_t* file = nullptr;
  const auto encode = channels == 4 ? WebPEncodeRGBA : WebPEncodeRGB;
  const std::size_t length = encode(pixels.data(), width, height, width * channels, 95, &file);
  return taken(file, length);
}

Bytes riff(const Bytes& chunks) {
  return "RIFF" + little(4 + chunks.size(), 4) + "WEBP" + chunks;
}
Bytes riff_chunk(const Bytes& kind, const Bytes& data) {
  return kind + little(data.size(), 4) + data + Bytes(data.size() % 2, '\0');
}
Bytes extended(int flags, int width, int height) {
  return riff_chunk("VP8X", little(static_cast<unsigned>(flags), 4) + little(static_cast<unsigned>(width - 1), 3) +
                                little(static_cast<unsigned>(height - 1), 3));
}

TEST(Webp, LosslessIsExact) {
  for (const auto& [width, height] : {std::pair{1, 1}, {17, 13}, {300, 2}, {3, 77}})
    for (const int channels : {3, 4}) {
      const V8 pixels = picture(width, height, channels);
      const Bytes bytes = lossless(pixels, width, height, channels);
      expect_values<std::uint8_t>(bytes, pixels);
      const auto source = open_bytes(bytes);
      EXPECT_EQ(source->info().format, "webp");
      EXPECT_EQ(source->info().channels,
                channels == 4 ? Names({"red", "green", "blue", "alpha"}) : Names({"red", "green", "blue"}));
    }
}

TEST(Webp, Lossy) {
  for (const int channels : {3, 4}) {
    const V8 pixels = picture(45, 31, channels, 1);
    const Bytes bytes = lossy(pixels, 45, 31, channels);
    int width = 0;
    int height = 0;
    std::uint8_t* whole = (channels == 4 ? WebPDecodeRGBA : WebPDecodeRGB)(
        reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), &width, &height);
    ASSERT_NE(whole, nullptr);
    const V8 expected(whole, whole + pixels.size());
    WebPFree(whole);
    expect_values<std::uint8_t>(bytes, expected);
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i)
      difference += static_cast<std::uint64_t>(std::abs(pixels[i] - expected[i]));
    EXPECT_LE(difference / pixels.size(), 6U);
  }
}

TEST(Webp, ChunksAroundTheImage) {
  const V8 pixels = picture(17, 13, 3);
  const Bytes image = lossless(pixels, 17, 13, 3).substr(12);
  const Bytes profile = riff_chunk("ICCP", Bytes(200001, 'p'));
  const Bytes bytes = riff(extended(0x28, 17, 13) + profile + image + riff_chunk("EXIF", "x"));
  expect_values<std::uint8_t>(bytes, pixels);
  EXPECT_EQ(values<std::uint8_t>(*open_bytes(bytes + "what follows is not read")), pixels);
}

Bytes frame_of(const Bytes& image, int x, int y, int width, int height) {
  const auto number = [](int value) { return little(static_cast<unsigned>(value), 3); };
  return riff_chunk("ANMF", number(x / 2) + number(y / 2) + number(width - 1) + number(height - 1) + number(100) +
                                Bytes(1, '\0') + image.substr(12));
}

TEST(Webp, TheFirstFrameOfAnAnimation) {
  for (const int channels : {3, 4}) {
    const int flags = channels == 4 ? 0x12 : 0x02;
    const V8 first = picture(5, 3, channels);
    const Bytes frame = frame_of(lossless(first, 5, 3, channels), 2, 4, 5, 3);
    const Bytes other = frame_of(lossless(picture(9, 9, channels), 9, 9, channels), 0, 0, 9, 9);
    const Bytes loop = riff_chunk("ANIM", Bytes(6, '\x55'));  // the background is not used
    const auto canvas = static_cast<std::size_t>(channels);
    V8 expected(9 * 9 * canvas, 0);
    for (std::size_t y = 0; y < 3; ++y)
      std::copy_n(&first[y * 5 * canvas], 5 * canvas, &expected[((y + 4) * 9 + 2) * canvas]);
    const Bytes bytes = riff(extended(flags, 9, 9) + loop + frame + other);
    expect_values<std::uint8_t>(bytes, expected);
    EXPECT_EQ(open_bytes(bytes)->info().notes, Names{"read the first image of an animation of 2 frames"});
    EXPECT_EQ(open_bytes(bytes)->info().channels.size(), canvas);
    const Bytes alone = riff(extended(flags, 9, 9) + loop + frame);
    expect_values<std::uint8_t>(alone, expected);
    EXPECT_TRUE(open_bytes(alone)->info().notes.empty());
    expect_every_cut_bad(alone, webp_only());
    expect_bad(riff(extended(flags, 6, 9) + loop + frame), "leaves the canvas");
    expect_bad(riff(extended(flags, 9, 6) + loop + frame), "leaves the canvas");
    expect_bad(riff(extended(flags, 9, 9) + loop + frame_of(lossless(first, 5, 3, channels), 2, 4, 5, 2)),
               "has 5 x 3 pixels, its header says 5 x 2");
    expect_bad(riff(extended(flags, 1 << 24, 1 << 24) + loop + frame), "webp: ");
    expect_bad(riff(extended(flags, 1 << 20, 1 << 9) + loop + frame), "webp: ");
    expect_bad(riff(extended(flags, 9, 9) + loop + riff_chunk("ANMF", Bytes(16, '\0'))), "webp: ");
    // A lossy frame with alpha begins with a chunk of its own.
    const Bytes soft = lossy(first, 5, 3, channels);
    const Bytes still = soft.substr(soft.compare(12, 4, "VP8X") == 0 ? 12 + 18 : 12);
    V8 shown(9 * 9 * canvas, 0);
    const V8 pixels = values<std::uint8_t>(*open_bytes(soft));
    for (std::size_t y = 0; y < 3; ++y)
      std::copy_n(&pixels[y * 5 * canvas], 5 * canvas, &shown[((y + 4) * 9 + 2) * canvas]);
    expect_values<std::uint8_t>(riff(extended(flags, 9, 9) + loop + frame_of(Bytes(12, ' ') + still, 2, 4, 5, 3)),
                                shown);
  }
}

TEST(Webp, Orientation) {
  const V8 pixels = picture(17, 13, 3);
  const Bytes image = lossless(pixels, 17, 13, 3).substr(12);
  const Bytes exif = "MM" + big(42, 2) + big(8, 4) + big(1, 2) + big(0x112, 2) + big(3, 2) + big(1, 4) + big(8, 2) +
                     big(0, 2) + big(0, 4);
  for (const Bytes& prefix : {Bytes(), Bytes("Exif\0\0", 6)})
    EXPECT_EQ(open_bytes(riff(extended(0x08, 17, 13) + image + riff_chunk("EXIF", prefix + exif)))->info().notes,
              Names{"rows are read as stored; orientation 8 of the file asks viewers to turn or mirror them"});
}

TEST(Webp, CutFiles) {
  const V8 pixels = picture(17, 13, 4);
  for (const Bytes& bytes : {lossless(pixels, 17, 13, 4), lossy(pixels, 17, 13, 4)}) {
    expect_every_cut_bad(bytes, webp_only());
    expect_bad(bytes.substr(0, 100), "truncated: ");
    // Made whole again by a header that agrees.
    Bytes shorter = bytes.substr(0, bytes.size() / 2 * 2 - 20);
    shorter.replace(4, 4, little(shorter.size() - 8, 4));
    expect_bad(shorter, "webp: ");
  }
}

TEST(Webp, DamagedFiles) {
  std::mt19937 random(5);
  const V8 pixels = picture(17, 13, 4);
  for (const Bytes& good : {lossless(pixels, 17, 13, 4), lossy(pixels, 17, 13, 4)})
    for (int i = 0; i < 500; ++i) {
      Bytes bad = good;
      for (int k = 0; k < 1 + i % 3; ++k) bad[12 + random() % (bad.size() - 12)] = static_cast<char>(random());
      try {
        const auto source = open_bytes(bad, webp_only());
        if (*source->info().count > 1000000) continue;
        EXPECT_EQ(read_all(*source).size(), source->info().count);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("memory: "));
      }
    }
}

TEST(Webp, Lies) {
  for (const bool known_size : {true, false}) {
    const Bytes good = lossless(picture(17, 13, 3), 17, 13, 3);
    Bytes bytes = good;
    bytes.replace(4, 4, little(0xffffffff, 4));
    expect_bad(bytes, "the limit is 1024 MiB", {}, known_size);
    bytes.replace(4, 4, little(0x2fffffff, 4));
    expect_bad(bytes, "truncated: ", {}, known_size);
    bytes.replace(4, 4, little(4, 4));
    expect_bad(bytes, "webp: ", {}, known_size);
    bytes = good;
    bytes.replace(21, 4, "\xff\xff\xff\x0f");  // 14 bits each for width and height, less one
    expect_bad(bytes, "more than is believed of a file", {}, known_size);
    expect_bad(riff(""), "webp: ", {}, known_size);
    expect_bad(riff(extended(0x02, 20, 10)), "an animation without a frame", {}, known_size);
    expect_bad(riff(extended(0, 20, 10)), "webp: ", {}, known_size);
    expect_bad(riff(extended(0, 18, 13) + good.substr(12)), "webp: ", {}, known_size);
  }
  expect_bad("RIFF" + little(36, 4) + "WAVEfmt and so on", "sound", webp_only());
}

TEST(Webp, AnErrorStaysAnError) {
  Bytes bad = lossy(picture(45, 31, 3), 45, 31, 3);
  bad.replace(30, bad.size() - 30, Bytes(bad.size() - 30, '\xff'));
  const auto source = open_bytes(bad);
  V8 data(100);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(source->read(data.data(), data.size()), Error);
}

}  // namespace
}  // namespace masu::io::test

// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include "io/tiff_test_files.h"

namespace masu::io::test {
namespace {

using Names = std::vector<std::string>;

SourceOptions tiff_only() {
  SourceOptions options;
  options.format = InputFormat::image;
  return options;
}

// Noise over all values that so many bits have.
template <class T>
std::vector<T> noise(const TiffSpec& spec) {
  std::mt19937_64 random(spec.width * 31 + spec.bits);
  std::vector<T> values(std::size_t{spec.width} * spec.height * spec.samples);
  for (T& value : values) {
    const std::uint64_t word = random();
    if constexpr (std::is_floating_point_v<T>) value = static_cast<T>(static_cast<double>(word >> 11) * 0x1p-40 - 4000);
    else if constexpr (std::is_same_v<T, Half>) value.bits = static_cast<std::uint16_t>(word);
    else value = static_cast<T>(spec.bits < 8 * sizeof(T) ? word & ((1U << spec.bits) - 1) : word);
  }
  return values;
}

template <class T>
void expect_noise_back(const TiffSpec& spec) {
  SCOPED_TRACE(testing::Message() << spec.width << " x " << spec.height << " x " << spec.samples << ", " << spec.bits
                                  << " bits, compression " << spec.compression << ", tile " << spec.tile << ", rows "
                                  << spec.rows_per_strip << ", separate " << spec.separate << ", mode " << spec.mode);
  const auto values = noise<T>(spec);
  const Bytes bytes = write_tiff(spec, values);
  expect_values<T>(bytes, values);
  EXPECT_EQ(open_bytes(bytes)->info().shape, (std::vector<std::uint64_t>{spec.height, spec.width, spec.samples}));
}

// Every arrangement of the same samples.
template <class T>
void expect_every_arrangement(TiffSpec spec) {
  for (const std::string mode : {"wl", "wb", "wl8", "wb8"})
    for (const bool separate : {false, true})
      for (const unsigned tile : {0U, 16U, 32U})
        for (const unsigned rows : {1U, 3U, 1000U})
          for (const unsigned compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
            if (tile != 0 && rows != 1) continue;
            spec.mode = mode;
            spec.separate = separate;
            spec.tile = tile;
            spec.rows_per_strip = tile == 0 ? std::min(rows, spec.height) : 0;
            spec.compression = static_cast<unsigned>(compression);
            expect_noise_back<T>(spec);
          }
}

TEST(Tiff, EveryTypeInEveryArrangement) {
  const TiffSpec shape{.width = 37, .height = 21, .samples = 3, .photometric = PHOTOMETRIC_RGB};
  const auto with = [&](unsigned bits, unsigned format) {
    TiffSpec spec = shape;
    spec.bits = bits;
    spec.format = format;
    return spec;
  };
  expect_every_arrangement<std::uint8_t>(with(8, SAMPLEFORMAT_UINT));
  expect_every_arrangement<std::uint16_t>(with(16, SAMPLEFORMAT_UINT));
  expect_every_arrangement<std::uint32_t>(with(32, SAMPLEFORMAT_UINT));
  expect_every_arrangement<std::uint64_t>(with(64, SAMPLEFORMAT_UINT));
  expect_every_arrangement<std::int8_t>(with(8, SAMPLEFORMAT_INT));
  expect_every_arrangement<std::int16_t>(with(16, SAMPLEFORMAT_INT));
  expect_every_arrangement<std::int32_t>(with(32, SAMPLEFORMAT_INT));
  expect_every_arrangement<std::int64_t>(with(64, SAMPLEFORMAT_INT));
  expect_every_arrangement<Half>(with(16, SAMPLEFORMAT_IEEEFP));
  expect_every_arrangement<float>(with(32, SAMPLEFORMAT_IEEEFP));
  expect_every_arrangement<double>(with(64, SAMPLEFORMAT_IEEEFP));
}

TEST(Tiff, GrayDepthsKeepTheirValues) {
  for (const unsigned width : {1U, 7U, 8U, 37U})
    for (const unsigned compression : {COMPRESSION_NONE, COMPRESSION_PACKBITS, COMPRESSION_LZMA, COMPRESSION_ZSTD})
      for (const unsigned tile : {0U, 16U})
        for (const unsigned photometric : {PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE}) {
          if (compression == COMPRESSION_LZMA && width != 37) continue;  // takes milliseconds an image
          TiffSpec spec{.width = width, .height = 19, .photometric = photometric, .compression = compression};
          spec.tile = tile;
          for (spec.bits = 1; spec.bits <= 8; ++spec.bits) expect_noise_back<std::uint8_t>(spec);
          for (; spec.bits <= 16; ++spec.bits) expect_noise_back<std::uint16_t>(spec);
        }
  TiffSpec planes{.width = 13, .height = 5, .samples = 3, .bits = 4, .photometric = PHOTOMETRIC_RGB};
  expect_noise_back<std::uint8_t>(planes);
  planes.separate = true;
  expect_noise_back<std::uint8_t>(planes);
}

TEST(Tiff, Fax) {
  for (const unsigned compression : {COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3, COMPRESSION_CCITTFAX4})
    for (const unsigned order : {FILLORDER_MSB2LSB, FILLORDER_LSB2MSB})
      expect_noise_back<std::uint8_t>({.width = 100,
                                       .height = 9,
                                       .bits = 1,
                                       .photometric = PHOTOMETRIC_MINISWHITE,
                                       .compression = compression,
                                       .fill_order = order});
}

TEST(Tiff, BitsFromTheLowestOn) {
  for (const unsigned compression : {COMPRESSION_NONE, COMPRESSION_LZW}) {
    expect_noise_back<std::uint8_t>(
        {.width = 13, .height = 4, .bits = 1, .compression = compression, .fill_order = FILLORDER_LSB2MSB});
    expect_noise_back<std::uint16_t>(
        {.width = 13, .height = 4, .bits = 16, .compression = compression, .fill_order = FILLORDER_LSB2MSB});
  }
}

TEST(Tiff, Predictors) {
  for (const unsigned tile : {0U, 16U}) {
    TiffSpec spec{.width = 21, .height = 17, .samples = 3, .photometric = PHOTOMETRIC_RGB};
    spec.compression = COMPRESSION_LZW;
    spec.predictor = PREDICTOR_HORIZONTAL;
    spec.tile = tile;
    expect_noise_back<std::uint8_t>(spec);
    spec.bits = 16;
    expect_noise_back<std::uint16_t>(spec);
    spec.bits = 32;
    spec.format = SAMPLEFORMAT_IEEEFP;
    spec.predictor = PREDICTOR_FLOATINGPOINT;
    expect_noise_back<float>(spec);
  }
}

TEST(Tiff, WebpAndLerc) {
  TiffSpec spec{.width = 40, .height = 19, .samples = 3, .photometric = PHOTOMETRIC_RGB};
  spec.rows_per_strip = 8;
  for (const unsigned compression : {COMPRESSION_WEBP, COMPRESSION_LERC}) {
    spec.compression = compression;
    if (TIFFIsCODECConfigured(static_cast<std::uint16_t>(compression)) != 0) expect_noise_back<std::uint8_t>(spec);
  }
}

TEST(Tiff, JpegInside) {
  for (const bool colour : {false, true})
    for (const unsigned tile : {0U, 16U, 32U}) {
      TiffSpec spec{.width = 50, .height = 37, .samples = colour ? 3U : 1U, .compression = COMPRESSION_JPEG};
      spec.photometric = colour ? PHOTOMETRIC_YCBCR : PHOTOMETRIC_MINISBLACK;
      spec.rows_per_strip = 16;
      spec.tile = tile;
      std::vector<std::uint8_t> smooth;
      for (unsigned i = 0; i < spec.width * spec.height; ++i)
        for (unsigned c = 0; c < spec.samples; ++c)
          smooth.push_back(static_cast<std::uint8_t>(20 + 2 * (i % spec.width) + 2 * (i / spec.width) + 10 * c));
      const Bytes bytes = write_tiff(spec, smooth);
      const auto read = values<std::uint8_t>(*open_bytes(bytes));
      expect_values<std::uint8_t>(bytes, read);
      ASSERT_EQ(read.size(), smooth.size());
      int worst = 0;
      for (std::size_t i = 0; i < read.size(); ++i) worst = std::max(worst, std::abs(read[i] - smooth[i]));
      EXPECT_LE(worst, colour ? 8 : 3) << tile;
      EXPECT_EQ(open_bytes(bytes)->info().channels, colour ? Names({"red", "green", "blue"}) : Names({"gray"}));
    }
}

TEST(Tiff, Palettes) {
  TiffSpec spec{.width = 3, .bits = 2, .photometric = PHOTOMETRIC_PALETTE};
  const std::vector<std::uint8_t> indices = {3, 0, 1};
  const std::vector<std::uint8_t> expected = {3, 30, 255, 0, 10, 250, 1, 11, 251};
  for (const unsigned step : {1U, 256U, 257U}) {
    spec.palette.clear();
    for (const unsigned value : {0U, 1U, 2U, 3U, 10U, 11U, 20U, 30U, 250U, 251U, 252U, 255U})
      spec.palette.push_back(static_cast<std::uint16_t>(value * step));
    expect_values<std::uint8_t>(write_tiff(spec, indices), expected);
    EXPECT_EQ(open_bytes(write_tiff(spec, indices))->info().channels, (Names{"red", "green", "blue"}));
  }
  spec.palette[1] = 1000;
  expect_values<std::uint16_t>(write_tiff(spec, indices),
                               std::vector<std::uint16_t>{771, 7710, 65535, 0, 2570, 64250, 1000, 2827, 64507});
}

TEST(Tiff, PalettesWithAlpha) {
  TiffSpec spec{.width = 3, .samples = 2, .bits = 8, .photometric = PHOTOMETRIC_PALETTE};
  spec.palette.resize(768);
  for (std::size_t i = 0; i < 256; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      spec.palette[256 * c + i] = static_cast<std::uint16_t>(257 * ((i + 50 * c) % 256));
  const std::vector<std::uint8_t> stored = {3, 7, 0, 255, 250, 0};
  const std::vector<std::uint8_t> expected = {3, 53, 103, 7, 0, 50, 100, 255, 250, 44, 94, 0};
  for (const bool separate : {false, true}) {
    for (const unsigned tile : {0U, 16U}) {
      spec.separate = separate;
      spec.tile = tile;
      spec.extras = {EXTRASAMPLE_UNASSALPHA};
      expect_values<std::uint8_t>(write_tiff(spec, stored), expected);
      EXPECT_EQ(open_bytes(write_tiff(spec, stored))->info().channels, (Names{"red", "green", "blue", "alpha"}));
      spec.extras = {EXTRASAMPLE_UNSPECIFIED};
      expect_values<std::uint8_t>(write_tiff(spec, stored), expected);
      EXPECT_EQ(open_bytes(write_tiff(spec, stored))->info().channels, (Names{"red", "green", "blue", "3"}));
    }
  }
  // Alpha has the range of the colours.
  spec = {.width = 2, .samples = 2, .bits = 4, .photometric = PHOTOMETRIC_PALETTE, .extras = {EXTRASAMPLE_UNASSALPHA}};
  for (unsigned i = 0; i < 48; ++i) spec.palette.push_back(static_cast<std::uint16_t>(i));
  expect_values<std::uint8_t>(write_tiff(spec, std::vector<std::uint8_t>{1, 15, 2, 5}),
                              std::vector<std::uint8_t>{1, 17, 33, 255, 2, 18, 34, 85});
  spec.palette[1] = 1000;
  expect_values<std::uint16_t>(write_tiff(spec, std::vector<std::uint8_t>{1, 15, 2, 5}),
                               std::vector<std::uint16_t>{1000, 17, 33, 65535, 2, 18, 34, 21845});
}

TEST(Tiff, Notes) {
  const auto notes = [](const Bytes& bytes) {
    const auto source = open_bytes(bytes);
    read_all(*source);
    return source->info().notes;
  };
  const auto largest = [](unsigned value, unsigned most) {
    return "values are 0 to " + std::to_string(value) + " as stored, not scaled to " + std::to_string(most);
  };
  const std::string white = "0 is white (WhiteIsZero), as stored";
  for (const unsigned bits : {1U, 2U, 4U}) {
    for (const unsigned photometric : {PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE}) {
      const TiffSpec spec{.width = 4, .bits = bits, .photometric = photometric};
      const Bytes bytes = write_tiff(spec, std::vector<std::uint8_t>{1, 0, 1, 0});
      Names expected = {largest((1U << bits) - 1, 255)};
      if (photometric == PHOTOMETRIC_MINISWHITE) expected.insert(expected.begin(), white);
      EXPECT_EQ(notes(bytes), expected);
      expect_values<std::uint8_t>(bytes, std::vector<std::uint8_t>{1, 0, 1, 0});
    }
  }
  EXPECT_EQ(notes(write_tiff(TiffSpec{.bits = 12}, std::vector<std::uint16_t>{4095})), Names{largest(4095, 65535)});
  EXPECT_EQ(notes(write_tiff(TiffSpec{}, std::vector<std::uint8_t>{1})), Names{});
  EXPECT_EQ(notes(write_tiff(TiffSpec{.photometric = PHOTOMETRIC_MINISWHITE}, std::vector<std::uint8_t>{1})),
            Names{white});
  const TiffSpec float_bits{.bits = 32, .format = SAMPLEFORMAT_IEEEFP};
  EXPECT_EQ(notes(write_tiff(float_bits, std::vector<float>{1})), Names{});
  const TiffSpec premultiplied{.samples = 4, .photometric = PHOTOMETRIC_RGB, .extras = {EXTRASAMPLE_ASSOCALPHA}};
  EXPECT_EQ(notes(write_tiff(premultiplied, std::vector<std::uint8_t>{1, 2, 3, 4})),
            Names{"colours are read as stored, multiplied by alpha (associated alpha)"});

  std::vector<TiffTag> tags = {{256, 4, 1, 2}, {257, 4, 1, 1}, {258, 3, 1, 8}, {259, 3, 1, 1}, {262, 3, 1, 1},
                               {273, 4, 1, 8}, {274, 3, 1, 4}, {278, 4, 1, 1}, {279, 4, 1, 2}};
  const std::string turned = "rows are read as stored; orientation 4 of the file asks viewers to turn or mirror them";
  EXPECT_EQ(notes(tiff_of_tags(tags, "ab")), Names{turned});
  tags[6].value = 1;
  EXPECT_EQ(notes(tiff_of_tags(tags, "ab")), Names{});
  tags.push_back({42113, 2, 4, 0x00353532});
  const auto no_data = [](const std::string& value) {
    return "the file calls " + value + " no data (GDAL_NODATA); it is read as any value";
  };
  EXPECT_EQ(notes(tiff_of_tags(tags, "ab")), Names{no_data("255")});
  for (const TiffTag& other :
       {TiffTag{42113, 1, 4, 0x0a353532}, {42113, 3, 1, 9}, {42113, 4, 1, 9}, {42113, 2, 0, 0}}) {
    tags.back() = other;
    EXPECT_LE(notes(tiff_of_tags(tags, "ab")).size(), 1U);
  }
  tags.pop_back();
  tags.insert(tags.begin(), {254, 4, 1, 1});
  EXPECT_EQ(notes(tiff_of_tags(tags, "ab")), Names{"the file calls this image a smaller version of another one in it"});
}

TEST(Tiff, NamesOfChannels) {
  const auto names = [](unsigned samples, unsigned photometric, std::vector<std::uint16_t> extras = {}) {
    TiffSpec spec{.samples = samples, .photometric = photometric, .extras = std::move(extras)};
    const Bytes bytes = write_tiff(spec, std::vector<std::uint8_t>(samples, 1));
    return open_bytes(bytes)->info().channels;
  };
  EXPECT_EQ(names(1, PHOTOMETRIC_MINISBLACK), Names{"gray"});
  EXPECT_EQ(names(1, PHOTOMETRIC_MINISWHITE), Names{"gray"});
  EXPECT_EQ(names(2, PHOTOMETRIC_MINISBLACK, {EXTRASAMPLE_ASSOCALPHA}), (Names{"gray", "alpha"}));
  EXPECT_EQ(names(2, PHOTOMETRIC_MINISBLACK, {EXTRASAMPLE_UNSPECIFIED}), (Names{"0", "1"}));
  EXPECT_EQ(names(3, PHOTOMETRIC_RGB), (Names{"red", "green", "blue"}));
  EXPECT_EQ(names(4, PHOTOMETRIC_RGB, {EXTRASAMPLE_UNASSALPHA}), (Names{"red", "green", "blue", "alpha"}));
  EXPECT_EQ(names(4, PHOTOMETRIC_RGB, {EXTRASAMPLE_UNSPECIFIED}), (Names{"red", "green", "blue", "3"}));
  EXPECT_EQ(names(5, PHOTOMETRIC_RGB, {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNASSALPHA}),
            (Names{"red", "green", "blue", "3", "alpha"}));
  EXPECT_EQ(names(5, PHOTOMETRIC_RGB, {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_UNASSALPHA}),
            (Names{"red", "green", "blue", "alpha", "4"}));
  EXPECT_EQ(names(3, PHOTOMETRIC_MINISBLACK, {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNASSALPHA}),
            (Names{"0", "1", "alpha"}));
  EXPECT_EQ(names(3, PHOTOMETRIC_MINISBLACK, {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_UNSPECIFIED}),
            (Names{"gray", "alpha", "2"}));
  EXPECT_EQ(names(5, PHOTOMETRIC_SEPARATED, {EXTRASAMPLE_UNASSALPHA}),
            (Names{"cyan", "magenta", "yellow", "black", "alpha"}));
  EXPECT_EQ(names(4, PHOTOMETRIC_SEPARATED), (Names{"cyan", "magenta", "yellow", "black"}));
  EXPECT_EQ(names(5, PHOTOMETRIC_MINISBLACK, {0, 0, 0, 0}), (Names{"0", "1", "2", "3", "4"}));
}

TEST(Tiff, OnlyTheFirstImageIsRead) {
  const std::vector<TiffTag> tags = {{256, 4, 1, 2}, {257, 4, 1, 1}, {258, 3, 1, 8}, {259, 3, 1, 1},
                                     {262, 3, 1, 1}, {273, 4, 1, 8}, {278, 4, 1, 1}, {279, 4, 1, 2}};
  const std::size_t second = tiff_of_tags(tags, "ab").size();
  Bytes bytes = tiff_of_tags(tags, "ab", second);
  bytes += bytes.substr(10);
  bytes[second + 2 + 4 * 12 + 8] = 9;  // its photometry makes no sense
  expect_values<std::uint8_t>(bytes, std::vector<std::uint8_t>{'a', 'b'});
  EXPECT_EQ(open_bytes(bytes)->info().notes, Names{"read image 1 of 2"});
}

TEST(Tiff, FilesByHand) {
  const Bytes bytes = write_tiff(TiffSpec{.width = 2}, std::vector<std::uint8_t>{1, 2});
  EXPECT_EQ(open_bytes(bytes)->info().format, "tiff");
  // A directory that follows itself.
  const std::vector<TiffTag> tags = {{256, 4, 1, 2}, {257, 4, 1, 1}, {258, 3, 1, 8}, {259, 3, 1, 1},
                                     {262, 3, 1, 1}, {273, 4, 1, 8}, {278, 4, 1, 1}, {279, 4, 1, 2}};
  expect_values<std::uint8_t>(tiff_of_tags(tags, "ab", 10), std::vector<std::uint8_t>{'a', 'b'});
  // libtiff corrects the length of a single strip that cannot be true.
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{0xffffffff}}) {
    std::vector<TiffTag> wrong = tags;
    wrong.back().value = length;
    expect_values<std::uint8_t>(tiff_of_tags(wrong, "ab"), std::vector<std::uint8_t>{'a', 'b'});
  }
}

TEST(Tiff, CutFiles) {
  for (const unsigned compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_JPEG})
    for (const unsigned tile : {0U, 16U}) {
      TiffSpec spec{.width = 9, .height = 18, .compression = compression, .rows_per_strip = 8, .tile = tile};
      const Bytes bytes = write_tiff(spec, noise<std::uint8_t>(spec));
      expect_every_cut_bad(bytes, tiff_only());
    }
  // The directory first, so that the data can be missing.
  const std::vector<TiffTag> tags = {{256, 4, 1, 20}, {257, 4, 1, 10},  {258, 3, 1, 8},  {259, 3, 1, 1},
                                     {262, 3, 1, 1},  {273, 4, 1, 110}, {278, 4, 1, 10}, {279, 4, 1, 200}};
  const Bytes whole = tiff_of_tags(tags, "") + Bytes(200, 'x');
  ASSERT_EQ(whole.size(), 310U);
  expect_values<std::uint8_t>(whole, std::vector<std::uint8_t>(200, 'x'));
  expect_bad(whole.substr(0, 250), "truncated: strip 0 needs 200 bytes from byte 110, but the file ends at byte 250");
}

TEST(Tiff, DamagedFiles) {
  std::mt19937 random(3);
  for (const unsigned compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_JPEG, COMPRESSION_PACKBITS})
    for (const unsigned tile : {0U, 16U}) {
      TiffSpec spec{.width = 9, .height = 18, .compression = compression, .rows_per_strip = 8, .tile = tile};
      const Bytes good = write_tiff(spec, noise<std::uint8_t>(spec));
      for (int i = 0; i < 400; ++i) {
        Bytes bad = good;
        for (int k = 0; k < 1 + i % 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
        try {
          const auto source = open_bytes(bad, tiff_only());
          EXPECT_EQ(read_all(*source, std::uint64_t{1} << 28).size(),
                    *source->info().count * size_of(source->info().dtype));
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), testing::StartsWith("memory: "));
        }
      }
    }
  TiffSpec spec{.width = 64, .height = 18, .bits = 1, .photometric = 0, .compression = COMPRESSION_CCITTFAX4};
  Bytes fax = write_tiff(spec, noise<std::uint8_t>(spec));
  fax[12] = fax[13] = fax[14] = '\0';
  expect_bad(fax, "tiff: strip 0: ");
}

TEST(Tiff, Lies) {
  const auto bad = [](std::vector<TiffTag> change, const std::string& part) {
    SCOPED_TRACE(testing::Message() << "tag " << change[0].tag << " is " << change[0].value);
    std::vector<TiffTag> tags = {{256, 4, 1, 4}, {257, 4, 1, 4}, {258, 3, 1, 8}, {259, 3, 1, 1}, {262, 3, 1, 1},
                                 {273, 4, 1, 8}, {277, 3, 1, 1}, {278, 4, 1, 4}, {279, 4, 1, 16}};
    for (const TiffTag& tag : change) {
      const auto at = std::find_if(tags.begin(), tags.end(), [&](const TiffTag& t) { return t.tag >= tag.tag; });
      if (at != tags.end() && at->tag == tag.tag) *at = tag;
      else tags.insert(at, tag);
    }
    for (const bool known_size : {true, false}) expect_bad(tiff_of_tags(tags, Bytes(64, 'x')), part, {}, known_size);
  };
  const std::uint64_t most = 0xffffffff;
  bad({{256, 4, 1, most}, {257, 4, 1, most}}, "tiff: ");
  bad({{256, 4, 1, 100000}, {257, 4, 1, 100000}}, "do not fit in a file");
  bad({{257, 4, 1, most}}, "tiff: ");
  bad({{257, 4, 1, 5}}, "tiff: ");
  bad({{256, 4, 1, most}, {258, 3, 1, 16}}, "tiff: a row of");
  bad({{256, 4, 1, 0}}, "");
  bad({{257, 4, 1, 0}}, "");
  bad({{256, 4, 1, 100000}, {257, 4, 1, 1000}, {259, 3, 1, COMPRESSION_CCITTFAX4}}, "");
  bad({{256, 4, 1, 100000000}, {259, 3, 1, COMPRESSION_ADOBE_DEFLATE}}, "do not fit in a file");
  bad({{256, 4, 1, 1000000}, {257, 4, 1, 1000000}, {322, 4, 1, 1000000}, {323, 4, 1, 1000000}}, "tiff: ");
  bad({{258, 3, 1, 24}}, "24 bits are not read");
  bad({{258, 3, 1, 4}, {339, 3, 1, SAMPLEFORMAT_INT}}, "4 bits are not read");
  bad({{258, 3, 1, 64}, {339, 3, 1, SAMPLEFORMAT_COMPLEXIEEEFP}}, "not read");
  bad({{259, 3, 1, COMPRESSION_OJPEG}}, "");
  bad({{259, 3, 1, 12345}}, "");
  bad({{258, 3, 1, 4}, {262, 3, 1, PHOTOMETRIC_PALETTE}}, "");
  bad({{262, 3, 1, PHOTOMETRIC_YCBCR}, {277, 3, 1, 3}}, "");
  bad({{273, 4, 1, 1000}}, "truncated: strip 0 needs 16 bytes from byte 1000");
  bad({{273, 4, 1, most}}, "truncated: strip 0");
  bad({{273, 4, 1000000, 8}, {279, 4, 1000000, 8}}, "");
  bad({{277, 3, 1, 65535}}, "");
  bad({{284, 3, 1, 2}, {277, 3, 1, 65535}, {257, 4, 1, most}, {278, 4, 1, 1}}, "");
  bad({{32997, 4, 1, 2}}, "volumes");
}

TEST(Tiff, AnErrorStaysAnError) {
  const Bytes bytes = write_tiff(TiffSpec{.width = 8, .height = 8, .compression = COMPRESSION_ADOBE_DEFLATE},
                                 std::vector<std::uint8_t>(64, 7));
  Bytes bad = bytes;
  bad[12] = static_cast<char>(bad[12] ^ 0x55);
  auto source = open_bytes(bad);
  std::vector<std::uint8_t> data(64);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(source->read(data.data(), data.size()), Error);
}

}  // namespace
}  // namespace masu::io::test

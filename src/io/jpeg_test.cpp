// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>
#include <cstdlib>
//
#include <jpeglib.h>

#include <random>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

using V8 = std::vector<std::uint8_t>;

struct Picture {
  unsigned width = 17;
  unsigned height = 13;
  int components = 3;
  V8 pixels = {};

  // Smooth, so that little is lost.
  static Picture smooth(unsigned width, unsigned height, int components) {
    Picture picture{width, height, components};
    for (unsigned y = 0; y < height; ++y)
      for (unsigned x = 0; x < width; ++x)
        for (int c = 0; c < components; ++c)
          picture.pixels.push_back(static_cast<std::uint8_t>(60 + 40 * c + 2 * x + 3 * y));
    return picture;
  }
};

struct Coding {
  J_COLOR_SPACE given = JCS_RGB;
  J_COLOR_SPACE stored = JCS_YCbCr;
  int quality = 100;
  bool progressive = false;
  bool arithmetic = false;
  bool separate_scans = false;
  unsigned restart = 0;  // MCUs between two restart markers
  int sampling = 1;      // of the first component; the others have 1
};

Bytes encode(const Picture& picture, const Coding& coding = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* file = nullptr;
  unsigned long length = 0;
  jpeg_mem_dest(&info, &file, &length);
  info.image_width = picture.width;
  info.image_height = picture.height;
  info.input_components = picture.components;
  info.in_color_space = coding.given;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, coding.stored);
  jpeg_set_quality(&info, coding.quality, TRUE);
  for (int i = 0; i < info.num_components; ++i)
    info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = i == 0 ? coding.sampling : 1;
  info.arith_code = coding.arithmetic ? TRUE : FALSE;
  info.restart_interval = coding.restart;
  std::array<jpeg_scan_info, 3> scans{};
  if (coding.progressive) jpeg_simple_progression(&info);
  if (coding.separate_scans) {
    for (int i = 0; i < 3; ++i) scans[static_cast<std::size_t>(i)] = {1, {i}, 0, 63, 0, 0};
    info.scan_info = scans.data();
    info.num_scans = 3;
  }
  jpeg_start_compress(&info, TRUE);
  const std::size_t row = std::size_t{picture.width} * static_cast<std::size_t>(picture.components);
  for (std::size_t y = 0; y < picture.height; ++y) {
    JSAMPROW at = const_cast<JSAMPROW>(picture.pixels.data() + y * row);
    jpeg_write_scanlines(&info, &at, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes bytes(reinterpret_cast<const char*>(file), length);
  std::free(file);
  return bytes;
}

// The plain use of the library, as its documentation has it.
V8 decode(const Bytes& bytes) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  const std::size_t row = std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  V8 pixels(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW at = pixels.data() + info.output_scanline * row;
    jpeg_read_scanlines(&info, &at, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}

void expect_near(const V8& values, const V8& expected, int most) {
  ASSERT_EQ(values.size(), expected.size());
  int worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(values[i] - expected[i]));
  EXPECT_LE(worst, most);
}

std::vector<std::string> channels(const Bytes& bytes) {
  return open_bytes(bytes)->info().channels;
}

// Where the first marker of this kind stands.
std::size_t marker(const Bytes& bytes, unsigned char kind) {
  const std::size_t at = bytes.find(Bytes{'\xff', static_cast<char>(kind)});
  EXPECT_NE(at, Bytes::npos);
  return at;
}

SourceOptions jpeg_only() {
  SourceOptions options;
  options.format = InputFormat::image;
  return options;
}

const Coding gray{.given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};

TEST(Jpeg, Gray) {
  for (const auto& [width, height] : {std::pair{1U, 1U}, {17U, 13U}, {8U, 8U}, {64U, 1U}, {3U, 40U}}) {
    const Picture picture = Picture::smooth(width, height, 1);
    const Bytes bytes = encode(picture, gray);
    expect_values<std::uint8_t>(bytes, decode(bytes));
    expect_near(values<std::uint8_t>(*open_bytes(bytes)), picture.pixels, 2);
    EXPECT_EQ(open_bytes(bytes)->info().shape, (std::vector<std::uint64_t>{height, width, 1}));
  }
  Picture flat{24, 9, 1, V8(24 * 9, 77)};  // a whole block of one value is exact
  expect_values<std::uint8_t>(encode(flat, gray), flat.pixels);
  EXPECT_EQ(channels(encode(flat, gray)), std::vector<std::string>{"gray"});
  EXPECT_EQ(open_bytes(encode(flat, gray))->info().format, "jpeg");
}

TEST(Jpeg, Colours) {
  const Picture picture = Picture::smooth(33, 18, 3);
  for (const J_COLOR_SPACE stored : {JCS_YCbCr, JCS_RGB}) {
    for (const int sampling : {1, 2}) {
      const Bytes bytes = encode(picture, {.stored = stored, .sampling = sampling});
      expect_values<std::uint8_t>(bytes, decode(bytes));
      expect_near(values<std::uint8_t>(*open_bytes(bytes)), picture.pixels, sampling == 1 ? 3 : 12);
      EXPECT_EQ(channels(bytes), (std::vector<std::string>{"red", "green", "blue"}));
    }
  }
}

TEST(Jpeg, Inks) {
  const Picture picture = Picture::smooth(20, 11, 4);
  V8 inverted = picture.pixels;
  for (std::uint8_t& value : inverted) value = static_cast<std::uint8_t>(255 - value);
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    // libjpeg writes Adobe's marker, with which the inks are stored inverted.
    const Bytes bytes = encode(picture, {.given = JCS_CMYK, .stored = stored});
    expect_near(values<std::uint8_t>(*open_bytes(bytes)), inverted, 3);
    EXPECT_EQ(channels(bytes), (std::vector<std::string>{"cyan", "magenta", "yellow", "black"}));
    if (stored == JCS_YCCK) continue;
    Bytes plain = bytes;
    plain[marker(plain, 0xee) + 1] = '\xef';  // another application's
    expect_near(values<std::uint8_t>(*open_bytes(plain)), picture.pixels, 3);
  }
}

TEST(Jpeg, OtherNumbersOfComponents) {
  Picture picture = Picture::smooth(9, 9, 2);
  const Bytes bytes = encode(picture, {.given = JCS_UNKNOWN, .stored = JCS_UNKNOWN});
  expect_near(values<std::uint8_t>(*open_bytes(bytes)), picture.pixels, 2);
  EXPECT_EQ(channels(bytes), (std::vector<std::string>{"0", "1"}));
}

TEST(Jpeg, WaysOfCoding) {
  const Picture picture = Picture::smooth(45, 31, 3);
  const V8 expected = decode(encode(picture));
  for (const Coding& coding :
       {Coding{.progressive = true}, Coding{.arithmetic = true}, Coding{.progressive = true, .arithmetic = true},
        Coding{.separate_scans = true}, Coding{.restart = 1}, Coding{.progressive = true, .restart = 3}})
    expect_values<std::uint8_t>(encode(picture, coding), expected);
}

TEST(Jpeg, CutFiles) {
  const Picture picture = Picture::smooth(17, 13, 3);
  for (const bool progressive : {false, true}) {
    const Bytes bytes = encode(picture, {.quality = 50, .progressive = progressive});
    expect_every_cut_bad(bytes, jpeg_only());
    expect_bad(bytes.substr(0, bytes.size() - 9),
               "truncated: the file ends at byte " + std::to_string(bytes.size() - 9));
    // The end of the data, made whole by an end marker.
    if (!progressive) expect_bad(bytes.substr(0, bytes.size() - 9) + "\xff\xd9", "(at byte ");
    EXPECT_EQ(values<std::uint8_t>(*open_bytes(bytes + "what follows is not read")), decode(bytes));
  }
}

TEST(Jpeg, DamagedFiles) {
  const Picture picture = Picture::smooth(17, 13, 3);
  std::mt19937 random(1);
  for (const Coding& coding :
       {Coding{.quality = 50}, Coding{.progressive = true}, Coding{.arithmetic = true}, Coding{.restart = 1}}) {
    const Bytes good = encode(picture, coding);
    for (int i = 0; i < 400; ++i) {
      Bytes bad = good;
      for (int k = 0; k < 1 + i % 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      try {
        const auto source = open_bytes(bad, jpeg_only());
        EXPECT_EQ(read_all(*source).size(), source->info().count);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("memory: "));
      }
    }
  }
  Bytes bad = encode(picture, {.restart = 1});
  bad[marker(bad, 0xd1) + 1] = '\xd5';  // the wrong restart marker
  expect_bad(bad, "jpeg: ");
  auto source = open_bytes(bad);
  V8 data(17 * 13 * 3);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(source->read(data.data(), data.size()), Error);
}

TEST(Jpeg, BytesBeforeTheEndMarkerAreLeftOut) {
  const Bytes bytes = encode(Picture::smooth(17, 13, 3));
  EXPECT_EQ(values<std::uint8_t>(*open_bytes(bytes.substr(0, bytes.size() - 2) + "pad" + "\xff\xd9")), decode(bytes));
}

Bytes segment(unsigned char kind, const Bytes& data) {
  return Bytes{'\xff', static_cast<char>(kind)} + big(data.size() + 2, 2) + data;
}

TEST(Jpeg, BytesBeforeMarkersAreLeftOut) {
  const Picture picture = Picture::smooth(17, 13, 3);
  const Bytes bytes = encode(picture);
  for (const unsigned char kind : {0xdb, 0xc0, 0xc4, 0xda}) {  // tables, frame, codes, scan
    Bytes padded = bytes;
    expect_values<std::uint8_t>(padded.insert(marker(padded, kind), Bytes(2, '\0')), decode(bytes));
  }
  Bytes scans = encode(picture, {.progressive = true});
  const V8 expected = decode(scans);
  const std::size_t second = scans.find("\xff\xc4", marker(scans, 0xda));
  expect_values<std::uint8_t>(scans.insert(second, Bytes(2, '\0')), expected);
  Bytes torn = encode(picture, {.restart = 1});
  expect_bad(torn.insert(marker(torn, 0xd1), Bytes(40, '\x11')), "jpeg: ");
}

TEST(Jpeg, Notes) {
  using Notes = std::vector<std::string>;
  const Bytes bytes = encode(Picture::smooth(17, 13, 3));
  const auto notes = [](const Bytes& data, bool known_size = true) {
    const auto source = open_bytes(data, {}, known_size);
    read_all(*source);
    source->rewind();
    read_all(*source);
    return source->info().notes;
  };
  const auto with = [&](const Bytes& segments) { return bytes.substr(0, 2) + segments + bytes.substr(2); };
  const auto directory = [](bool big_endian, unsigned tag, unsigned type, unsigned value) {
    const auto number = [&](unsigned some, int count) { return big_endian ? big(some, count) : little(some, count); };
    const Bytes stored = type == 3 ? number(value, 2) + number(0, 2) : number(value, 4);
    return (big_endian ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2) + number(0x100, 2) + number(4, 2) +
           number(1, 4) + number(9, 4) + number(tag, 2) + number(type, 2) + number(1, 4) + stored + number(0, 4);
  };
  EXPECT_EQ(notes(bytes), Notes{});
  for (const bool big_endian : {false, true}) {
    for (const bool known_size : {true, false}) {
      const Bytes exif = Bytes("Exif\0\0", 6) + directory(big_endian, 0x112, 3, 6);
      EXPECT_EQ(notes(with(segment(0xe1, "http://") + segment(0xe1, exif)), known_size),
                Notes{"rows are read as stored; orientation 6 of the file asks viewers to turn or mirror them"});
      const Bytes mpf = Bytes("MPF\0", 4) + directory(big_endian, 0xb001, 4, 3);
      EXPECT_EQ(notes(with(segment(0xe2, mpf)) + Bytes(9, '\0') + bytes, known_size), Notes{"read image 1 of 3"});
      EXPECT_EQ(notes(with(segment(0xe2, mpf)) + bytes, known_size), Notes{"read image 1 of 3"});
      for (std::size_t cut = 0; cut < exif.size(); ++cut)  // what ends early says nothing, or is right
        EXPECT_LE(notes(with(segment(0xe1, exif.substr(0, cut)))).size(), 1U);
    }
  }
  EXPECT_EQ(notes(with(segment(0xe1, Bytes("Exif\0\0", 6) + directory(false, 0x112, 3, 1)))), Notes{});
  EXPECT_EQ(notes(bytes + bytes), Notes{"read the first image only, another one follows"});
  EXPECT_EQ(notes(bytes + bytes, false), Notes{"read the first image only, another one follows"});
  const Picture inks = Picture::smooth(20, 11, 4);
  Bytes cmyk = encode(inks, {.given = JCS_CMYK, .stored = JCS_CMYK});
  EXPECT_EQ(notes(cmyk), Notes{});
  cmyk[marker(cmyk, 0xee) + 1] = '\xef';
  EXPECT_EQ(notes(cmyk),
            Notes{"CMYK without Adobe's marker is read as stored; many readers take 255 for no ink here too"});
}

TEST(Jpeg, Lies) {
  const Picture picture = Picture::smooth(17, 13, 3);
  for (const Coding& coding : {Coding{}, Coding{.progressive = true}, Coding{.arithmetic = true},
                               Coding{.progressive = true, .arithmetic = true}}) {
    for (const bool known_size : {true, false}) {
      Bytes bytes = encode(picture, coding);
      const unsigned char kinds[2][2] = {{0xc0, 0xc2}, {0xc9, 0xca}};
      const std::size_t frame = marker(bytes, kinds[coding.arithmetic][coding.progressive]);
      bytes.replace(frame + 5, 4, big(65000, 2) + big(65000, 2));
      expect_bad(bytes, coding.progressive ? "held in memory as a whole" : "do not fit in a file", {}, known_size);
      bytes.replace(frame + 5, 4, big(12000, 2) + big(10000, 2));
      expect_bad(bytes, "do not fit in a file", {}, known_size);
      bytes.replace(frame + 5, 4, big(0, 2) + big(10000, 2));
      expect_bad(bytes, "jpeg: ", {}, known_size);
    }
  }
  Bytes deep = encode(picture);
  deep[marker(deep, 0xc0) + 4] = 12;
  expect_bad(deep, "precision 12");
  expect_bad(Bytes("\xff\xd8\xff\xd9", 4), "jpeg: ");
}

TEST(Jpeg, EndlessScans) {
  const Bytes bytes = encode(Picture::smooth(8, 8, 1), {.given = JCS_GRAYSCALE,  //
                                                        .stored = JCS_GRAYSCALE,
                                                        .progressive = true});
  const std::size_t last = bytes.rfind("\xff\xda");
  Bytes many = bytes.substr(0, bytes.size() - 2);
  for (int i = 0; i < 600; ++i) many += bytes.substr(last, bytes.size() - 2 - last);
  expect_bad(many + "\xff\xd9", "jpeg: ");
}

// Fails in the middle, as a disk does.
class FailingStream final : public ByteStream {
 public:
  explicit FailingStream(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::size_t read(std::byte* target, std::size_t bytes) override {
    if (position_ == bytes_.size()) fail_io("disk", "is broken");
    bytes = std::min(bytes, bytes_.size() - position_);
    std::memcpy(target, bytes_.data() + position_, bytes);
    position_ += bytes;
    return bytes;
  }
  void seek(std::uint64_t position) override { position_ = position; }

 private:
  Bytes bytes_;
  std::size_t position_ = 0;
};

TEST(Jpeg, ErrorsOfTheReaderPassTheDecoder) {
  const Bytes bytes = encode(Picture::smooth(170, 130, 3));
  for (const std::size_t length : {bytes.size() / 2, bytes.size() - 1}) {
    auto stream = std::make_unique<FailingStream>(bytes.substr(0, length));
    expect_error(ErrorCode::io, "disk: is broken", [&] {
      read_all(*open_jpeg(Input{Reader("memory", std::move(stream)), {}}));
    });
  }
}

}  // namespace
}  // namespace masu::io::test

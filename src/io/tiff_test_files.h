// SPDX-License-Identifier: Apache-2.0
// TIFF files for the tests: written by LibTIFF in every arrangement, or tag by tag where they are to be wrong.
#pragma once

#include <tiffio.h>

#include <algorithm>
#include <string>
#include <vector>

#include "io/test_files.h"

namespace masu::io::test {

struct TiffSpec {
  unsigned width = 1;
  unsigned height = 1;
  unsigned samples = 1;
  unsigned bits = 8;
  unsigned format = SAMPLEFORMAT_UINT;
  unsigned photometric = PHOTOMETRIC_MINISBLACK;
  bool separate = false;
  unsigned compression = COMPRESSION_NONE;
  unsigned predictor = 0;
  unsigned rows_per_strip = 3;
  unsigned tile = 0;  // width and height; 0: strips
  unsigned fill_order = 0;
  std::vector<std::uint16_t> extras = {};
  std::vector<std::uint16_t> palette = {};  // all reds, then all greens, then all blues
  std::string mode = "w";                   // wl, wb: endianness; w8: BigTIFF
};

namespace tiff_memory {

struct File {
  Bytes bytes;
  std::size_t position = 0;
};
inline tmsize_t read(thandle_t handle, void* data, tmsize_t bytes) {
  auto& file = *static_cast<File*>(handle);
  const auto got = std::min(static_cast<std::size_t>(bytes), file.bytes.size() - file.position);
  std::memcpy(data, file.bytes.data() + file.position, got);
  file.position += got;
  return static_cast<tmsize_t>(got);
}
inline tmsize_t write(thandle_t handle, void* data, tmsize_t bytes) {
  auto& file = *static_cast<File*>(handle);
  const std::size_t end = file.position + static_cast<std::size_t>(bytes);
  if (file.bytes.size() < end) file.bytes.resize(end);
  std::memcpy(file.bytes.data() + file.position, data, static_cast<std::size_t>(bytes));
  file.position = end;
  return bytes;
}
inline toff_t seek(thandle_t handle, toff_t offset, int whence) {
  auto& file = *static_cast<File*>(handle);
  if (whence == SEEK_CUR) offset += file.position;
  if (whence == SEEK_END) offset += file.bytes.size();
  if (file.bytes.size() < offset) file.bytes.resize(offset);
  return file.position = offset;
}
inline int close(thandle_t) {
  return 0;
}
inline toff_t size(thandle_t handle) {
  return static_cast<File*>(handle)->bytes.size();
}

}  // namespace tiff_memory

// One row of samples, packed from the highest bit on where they are no whole bytes.
template <class T>
Bytes packed_row(const std::vector<T>& samples, unsigned bits) {
  if (bits == 8 * sizeof(T)) return {reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(T)};
  Bytes out;
  if constexpr (std::is_integral_v<T>) {
    std::string digits;
    for (const T sample : samples)
      for (unsigned bit = bits; bit-- > 0;) digits += (static_cast<std::uint64_t>(sample) >> bit & 1U) != 0 ? '1' : '0';
    for (std::size_t i = 0; i < digits.size(); i += 8)
      out += static_cast<char>(std::stoi((digits.substr(i, 8) + "0000000").substr(0, 8), nullptr, 2));
  }
  return out;
}

// `values`: rows from the top, the samples of a pixel together. T has room for a sample.
template <class T>
Bytes write_tiff(const TiffSpec& spec, const std::vector<T>& values) {
  tiff_memory::File file;
  TIFF* tiff = TIFFClientOpen("test", spec.mode.c_str(), &file, tiff_memory::read, tiff_memory::write,
                              tiff_memory::seek, tiff_memory::close, tiff_memory::size, nullptr, nullptr);
  if (tiff == nullptr) return {};
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, spec.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, spec.height);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, spec.samples);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, spec.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, spec.format);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, spec.photometric);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, spec.separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, spec.compression);
  if (spec.predictor != 0) TIFFSetField(tiff, TIFFTAG_PREDICTOR, spec.predictor);
  if (spec.fill_order != 0) TIFFSetField(tiff, TIFFTAG_FILLORDER, spec.fill_order);
  if (!spec.extras.empty())
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<int>(spec.extras.size()), spec.extras.data());
  if (const std::size_t n = spec.palette.size() / 3; n != 0)
    TIFFSetField(tiff, TIFFTAG_COLORMAP, spec.palette.data(), spec.palette.data() + n, spec.palette.data() + 2 * n);
  if (spec.photometric == PHOTOMETRIC_YCBCR) TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  if (spec.compression == COMPRESSION_JPEG) TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 100);
  if (spec.compression == COMPRESSION_WEBP) TIFFSetField(tiff, TIFFTAG_WEBP_LOSSLESS, 1);
  if (spec.tile != 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, spec.tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, spec.tile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, spec.rows_per_strip);
  }
  const unsigned cell_width = spec.tile != 0 ? spec.tile : spec.width;
  const unsigned cell_height = spec.tile != 0 ? spec.tile : spec.rows_per_strip;
  const unsigned planes = spec.separate ? spec.samples : 1;
  std::uint32_t cell = 0;
  for (unsigned plane = 0; plane < planes; ++plane)
    for (unsigned y0 = 0; y0 < spec.height; y0 += cell_height)
      for (unsigned x0 = 0; x0 < spec.width; x0 += cell_width, ++cell) {
        Bytes data;
        for (unsigned y = y0; y < y0 + cell_height && (spec.tile != 0 || y < spec.height); ++y) {
          std::vector<T> row;
          for (unsigned x = x0; x < x0 + cell_width; ++x)
            for (unsigned s = plane; s < spec.samples; s += planes) {
              const bool outside = x >= spec.width || y >= spec.height;
              row.push_back(outside ? T{} : values[(std::size_t{y} * spec.width + x) * spec.samples + s]);
            }
          data += packed_row(row, spec.bits);
        }
        const auto bytes = static_cast<tmsize_t>(data.size());
        const tmsize_t put = spec.tile != 0 ? TIFFWriteEncodedTile(tiff, cell, data.data(), bytes)
                                            : TIFFWriteEncodedStrip(tiff, cell, data.data(), bytes);
        EXPECT_EQ(put, bytes) << "the test's own file";
      }
  TIFFClose(tiff);
  return file.bytes;
}

struct TiffTag {
  unsigned tag = 0;
  unsigned type = 4;  // 3: 16 bits, 4: 32 bits
  std::uint64_t count = 1;
  std::uint64_t value = 0;  // or the offset of the values
};

// A little-endian file of these tags; its data begins at byte 8, the directory follows.
inline Bytes tiff_of_tags(const std::vector<TiffTag>& tags, const Bytes& data, std::uint64_t next = 0) {
  Bytes out = Bytes("II*\0", 4) + little(8 + data.size(), 4) + data + little(tags.size(), 2);
  for (const TiffTag& tag : tags)
    out += little(tag.tag, 2) + little(tag.type, 2) + little(tag.count, 4) + little(tag.value, 4);
  return out + little(next, 4);
}

}  // namespace masu::io::test

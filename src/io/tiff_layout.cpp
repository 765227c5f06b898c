// SPDX-License-Identifier: Apache-2.0
#include "io/tiff_layout.h"

#include "elements/dtypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {
namespace {

constexpr std::uint64_t largest_row = std::uint64_t{1} << 30;

struct Compression {
  unsigned code;
  unsigned most_bytes;  // that a byte can stand for, generously; 0: any number
};
constexpr std::array<Compression, 13> compressions = {{
    {COMPRESSION_NONE, 1},
    {COMPRESSION_CCITTRLE, 512},
    {COMPRESSION_CCITTFAX3, 0},
    {COMPRESSION_CCITTFAX4, 0},
    {COMPRESSION_LZW, 4096},
    {COMPRESSION_JPEG, 4096},
    {COMPRESSION_ADOBE_DEFLATE, 1040},
    {COMPRESSION_DEFLATE, 1040},
    {COMPRESSION_PACKBITS, 64},
    {COMPRESSION_LZMA, 16384},
    {COMPRESSION_ZSTD, 65536},
    {COMPRESSION_WEBP, 0},
    {COMPRESSION_LERC, 0},
}};

void read_compression(TiffFile& file, Reader& reader, TiffLayout& layout) {
  layout.compression = file.field<std::uint16_t>(TIFFTAG_COMPRESSION).value_or(COMPRESSION_NONE);
  const auto* found = std::find_if(compressions.begin(), compressions.end(),
                                   [&](const Compression& known) { return known.code == layout.compression; });
  if (found == compressions.end()) reader.fail("tiff: compression {} is not read", layout.compression);
  if (file.library().TIFFIsCODECConfigured(static_cast<std::uint16_t>(layout.compression)) == 0)
    reader.fail("tiff: this system's libtiff cannot read compression {}", layout.compression);
  layout.most_bytes = found->most_bytes;
}

void read_dtype(TiffFile& file, Reader& reader, TiffLayout& layout) {
  layout.bits = file.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE).value_or(1);
  const unsigned format = file.field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT).value_or(SAMPLEFORMAT_UINT);
  const unsigned plain = format == SAMPLEFORMAT_VOID ? SAMPLEFORMAT_UINT : format;
  if (plain == SAMPLEFORMAT_UINT && layout.bits >= 1 && layout.bits <= 16) {
    layout.dtype = layout.bits <= 8 ? Dtype::u8 : Dtype::u16;
    return;
  }
  const DtypeNames* const found = find_dtype([&](const DtypeNames& each) {
    const unsigned own = is_float(each.dtype)    ? SAMPLEFORMAT_IEEEFP
                         : is_signed(each.dtype) ? SAMPLEFORMAT_INT
                                                 : SAMPLEFORMAT_UINT;
    return own == plain && 8 * size_of(each.dtype) == layout.bits && !each.numpy_name.empty();
  });
  if (found == nullptr) reader.fail("tiff: samples of format {} with {} bits are not read", format, layout.bits);
  layout.dtype = found->dtype;
}

// The colours' names, then alpha where the file says so; what has no name has its number.
void name_channels(TiffFile& file, unsigned photometric, TiffLayout& layout) {
  std::vector<std::string>& names = layout.channels;
  const bool palette = photometric == PHOTOMETRIC_PALETTE;
  const unsigned channels = layout.samples + (palette ? 2 : 0);
  if (photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR || palette) {
    if (channels >= 3) names = {"red", "green", "blue"};
  } else if (photometric == PHOTOMETRIC_SEPARATED) {
    const auto inks = file.field<std::uint16_t>(TIFFTAG_INKSET);
    if (layout.samples >= 4 && inks == INKSET_CMYK) names = {"cyan", "magenta", "yellow", "black"};
  } else if (photometric <= PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MASK) {
    names = {"gray"};
  }
  std::uint16_t extras = 0;
  std::uint16_t* kinds = nullptr;
  const bool given = file.library().TIFFGetField(file.handle(), TIFFTAG_EXTRASAMPLES, &extras, &kinds) == 1;
  if (!given || kinds == nullptr || extras > layout.samples) extras = 0;
  const auto is_alpha = [&](std::size_t i) {
    return kinds[i] == EXTRASAMPLE_ASSOCALPHA || kinds[i] == EXTRASAMPLE_UNASSALPHA;
  };
  const std::size_t colours = channels - extras;
  if (names.size() == 1 && channels > 1 && (extras == 0 || !is_alpha(0))) names.clear();
  bool alpha = false;
  for (std::size_t i = names.size(); i < channels; ++i) {
    const bool first_alpha = i >= colours && is_alpha(i - colours) && !std::exchange(alpha, true);
    names.push_back(first_alpha ? "alpha" : std::to_string(i));
    if (first_alpha && kinds[i - colours] == EXTRASAMPLE_ASSOCALPHA)
      layout.notes.emplace_back("colours are read as stored, multiplied by alpha (associated alpha)");
  }
}

// Entries of 16 bits that stand for 8 become 8: whole numbers below 256, multiples of 257, and multiples of 256, as
// writers of different ages have them.
void read_palette(TiffFile& file, Reader& reader, TiffLayout& layout) {
  if (layout.samples > 2 || (layout.dtype != Dtype::u8 && layout.dtype != Dtype::u16))
    reader.fail("tiff: a palette for {} samples of {} bits is not read", layout.samples, layout.bits);
  std::array<std::uint16_t*, 3> colours{};
  if (file.library().TIFFGetField(file.handle(), TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]) != 1)
    reader.fail("tiff: the palette is missing");
  const std::size_t entries = std::size_t{1} << layout.bits;
  for (std::size_t i = 0; i < entries; ++i)
    for (const std::uint16_t* colour : colours) layout.palette.push_back(colour[i]);
  const auto all = [&](auto holds) { return std::all_of(layout.palette.begin(), layout.palette.end(), holds); };
  unsigned step = 0;
  if (all([](unsigned value) { return value < 256; })) step = 1;
  else if (all([](unsigned value) { return value % 257 == 0; })) step = 257;
  else if (all([](unsigned value) { return value % 256 == 0; })) step = 256;
  if (layout.samples == 2 && layout.bits > 8) step = 0;  // the other sample may need all of its bits
  if (step != 0)
    for (std::uint16_t& value : layout.palette) value = static_cast<std::uint16_t>(value / step);
  layout.dtype = step != 0 ? Dtype::u8 : Dtype::u16;
}

// Text of a tag that libtiff does not know, up to its first zero; "" where there is none.
std::string unknown_text(TiffFile& file, std::uint32_t tag) {
  const LibTiff& library = file.library();
  const TIFFField* const field = library.TIFFFindField(file.handle(), tag, TIFF_ASCII);
  if (field == nullptr || library.TIFFFieldPassCount(field) == 0 || library.TIFFFieldReadCount(field) != TIFF_VARIABLE2)
    return {};
  std::uint32_t count = 0;
  const char* text = nullptr;
  if (library.TIFFGetField(file.handle(), tag, &count, &text) != 1 || text == nullptr) return {};
  return {text, ::strnlen(text, count)};
}

// Adds notes about facts that the tags state and the samples do not show.
void note_meaning(TiffFile& file, unsigned photometric, TiffLayout& layout) {
  constexpr std::uint32_t gdal_nodata = 42113;
  if (photometric == PHOTOMETRIC_MINISWHITE) layout.notes.emplace_back("0 is white (WhiteIsZero), as stored");
  std::string nodata = unknown_text(file, gdal_nodata);
  while (!nodata.empty() && nodata.back() == ' ') nodata.pop_back();
  if (!nodata.empty())
    layout.notes.push_back(
        fmt::format("the file calls {} no data (GDAL_NODATA); it is read as any value", printable(nodata)));
  if ((file.field<std::uint32_t>(TIFFTAG_SUBFILETYPE).value_or(0) & FILETYPE_REDUCEDIMAGE) != 0)
    layout.notes.emplace_back("the file calls this image a smaller version of another one in it");
  layout.orientation = file.field<std::uint16_t>(TIFFTAG_ORIENTATION).value_or(1);
}

void read_colours(TiffFile& file, Reader& reader, TiffLayout& layout) {
  const unsigned photometric = file.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC).value_or(PHOTOMETRIC_MINISBLACK);
  if (photometric == PHOTOMETRIC_PALETTE) read_palette(file, reader, layout);
  if (photometric == PHOTOMETRIC_YCBCR) {
    if (layout.compression != COMPRESSION_JPEG || layout.planes != 1 || layout.samples != 3)
      reader.fail("tiff: YCbCr is read only where its three components are compressed together as JPEG");
    // libtiff converts, as libjpeg does.
    file.library().TIFFSetField(file.handle(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  name_channels(file, photometric, layout);
  note_meaning(file, photometric, layout);
}

void read_cells(TiffFile& file, Reader& reader, TiffLayout& layout) {
  layout.tiled = file.tiled();
  if (layout.tiled) {
    layout.cell_width = file.field<std::uint32_t>(TIFFTAG_TILEWIDTH).value_or(0);
    layout.cell_height = file.field<std::uint32_t>(TIFFTAG_TILELENGTH).value_or(0);
  } else {
    layout.cell_width = layout.width;
    layout.cell_height =
        std::min<std::uint64_t>(file.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP).value_or(0xffffffff), layout.height);
  }
  if (layout.cell_width == 0 || layout.cell_height == 0)
    reader.fail("tiff: {}s of {} x {} pixels", layout.cell_name(), layout.cell_width, layout.cell_height);
  if (file.field<std::uint32_t>(TIFFTAG_IMAGEDEPTH).value_or(1) != 1 ||
      file.field<std::uint32_t>(TIFFTAG_TILEDEPTH).value_or(1) != 1)
    reader.fail("tiff: volumes are not read");
  const LibTiff& library = file.library();
  const std::uint64_t bits = layout.cell_width * layout.samples * layout.bits;  // at most 32 + 16 + 7 bits long
  if (bits / 8 > largest_row)
    reader.fail("tiff: a row of {} pixels needs {} MiB, the limit is {} MiB", layout.cell_width, bits >> 23,
                largest_row >> 20);
  const std::uint64_t cells =
      layout.tiled ? library.TIFFNumberOfTiles(file.handle()) : library.TIFFNumberOfStrips(file.handle());
  const std::uint64_t row =
      layout.tiled ? library.TIFFTileRowSize64(file.handle()) : library.TIFFScanlineSize64(file.handle());
  const auto plane = checked_product(layout.bands(), layout.columns());
  if (!plane || checked_product(*plane, layout.planes) != cells || row != layout.row_bytes())
    reader.fail("tiff: the sizes of image and {}s contradict each other", layout.cell_name());
}

}  // namespace

TiffLayout tiff_layout(TiffFile& file, Reader& reader) {
  TiffLayout layout;
  layout.width = file.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH).value_or(0);
  layout.height = file.field<std::uint32_t>(TIFFTAG_IMAGELENGTH).value_or(0);
  layout.samples = file.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL).value_or(1);
  if (layout.width == 0 || layout.height == 0 || layout.samples == 0)
    reader.fail("tiff: {} x {} pixels of {} samples", layout.width, layout.height, layout.samples);
  if (file.field<std::uint16_t>(TIFFTAG_PLANARCONFIG).value_or(PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE)
    layout.planes = layout.samples;
  layout.reversed_bits = file.field<std::uint16_t>(TIFFTAG_FILLORDER) == FILLORDER_LSB2MSB;
  read_compression(file, reader, layout);
  read_dtype(file, reader, layout);
  read_colours(file, reader, layout);
  read_cells(file, reader, layout);
  return layout;
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// Images of 200 million pixels, read by a process that is watched: what it needs must not grow with the image.
#include <cstddef>
#include <cstdio>
//
#include <jpeglib.h>
#include <png.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/test_files.h"

namespace masu::io::test {
namespace {

constexpr unsigned width = 20000;
constexpr unsigned height = 10000;
constexpr long most_mib = 48;

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Reads the file in a process of its own. Exits with the MiB that its memory grew by, 255 when it failed.
[[noreturn]] void read_and_exit(const std::string& path) {
  try {
    std::vector<std::byte> piece(std::size_t{1} << 20);
    const long before = peak_kib();
    const auto source = open(path);
    std::uint64_t elements = 0;
    while (const std::uint64_t got = source->read(piece.data(), piece.size())) elements += got;
    if (elements != std::uint64_t{width} * height) ::_exit(255);
    ::_exit(static_cast<int>(std::min(254L, (peak_kib() - before) >> 10)));
  } catch (...) {
    ::_exit(255);
  }
}

void expect_little_memory(const std::string& path) {
  SCOPED_TRACE(path);
  const pid_t child = ::fork();
  if (child == 0) read_and_exit(path);
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_NE(WEXITSTATUS(status), 255) << "reading failed";
  EXPECT_LE(WEXITSTATUS(status), most_mib) << "MiB";
  std::filesystem::remove(path);
}

std::string write_flat(const Folder& folder, const std::string& name, const Bytes& header) {
  std::string path = folder.write(name, header);
  std::filesystem::resize_file(path, header.size() + std::uint64_t{width} * height);  // takes no room on the disk
  return path;
}

TEST(ImageMemory, BmpAndPnm) {
  const Folder folder;
  Bytes palette;
  for (unsigned i = 0; i < 256; ++i) palette += little(i * 0x010101, 4);
  expect_little_memory(write_flat(folder, "flat.bmp",
                                  "BM" + little(0, 8) + little(1078, 4) + little(40, 4) + little(width, 4) +
                                      little(height, 4) + little(1, 2) + little(8, 2) + Bytes(24, '\0') + palette));
  expect_little_memory(
      write_flat(folder, "flat.pgm", "P5 " + std::to_string(width) + " " + std::to_string(height) + " 255\n"));
}

TEST(ImageMemory, Png) {
  const Folder folder;
  const std::string path = folder / "flat.png";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_compression_level(png, 1);
  png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  png_write_info(png, info);
  const std::vector<png_byte> row(width);
  for (unsigned y = 0; y < height; ++y) png_write_row(png, row.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
  expect_little_memory(path);
}

TEST(ImageMemory, Jpeg) {
  const Folder folder;
  const std::string path = folder / "flat.jpg";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = width;
  info.image_height = height;
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<JSAMPLE> row(width);
  JSAMPROW at = row.data();
  for (unsigned y = 0; y < height; ++y) jpeg_write_scanlines(&info, &at, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(file);
  expect_little_memory(path);
}

TEST(ImageMemory, Tiff) {
  const Folder folder;
  // One strip without compression and with it, and tiles.
  for (const auto& [compression, tile] :
       {std::pair{COMPRESSION_NONE, 0U}, {COMPRESSION_LZW, 0U}, {COMPRESSION_ADOBE_DEFLATE, 256U}}) {
    const std::string path = folder / "flat.tif";
    TIFF* tiff = TIFFOpen(path.c_str(), "w");
    ASSERT_NE(tiff, nullptr);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    if (tile == 0) {
      TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, height);
      std::vector<std::byte> row(width);
      for (unsigned y = 0; y < height; ++y) TIFFWriteScanline(tiff, row.data(), y, 0);
    } else {
      TIFFSetField(tiff, TIFFTAG_TILEWIDTH, tile);
      TIFFSetField(tiff, TIFFTAG_TILELENGTH, tile);
      std::vector<std::byte> data(std::size_t{tile} * tile);
      for (std::uint32_t i = 0; i < TIFFNumberOfTiles(tiff); ++i)
        TIFFWriteEncodedTile(tiff, i, data.data(), static_cast<tmsize_t>(data.size()));
    }
    TIFFClose(tiff);
    expect_little_memory(path);
  }
}

}  // namespace
}  // namespace masu::io::test

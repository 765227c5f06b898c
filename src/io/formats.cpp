// SPDX-License-Identifier: Apache-2.0
// Which formats are read, and by which libraries.
#include "io/sources.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <jpeglib.h>

namespace masu::io {
namespace {

struct ReadFormat {
  std::string_view name;
  std::string_view endings;
  std::array<const char*, 2> files;  // of its library, the first that is there; none: masu reads it itself
  std::string_view package;
};
constexpr std::array<ReadFormat, 18> all_formats = {{
    {"text", "csv tsv txt", {}, ""},
    {"JSON lines", "jsonl ndjson json", {}, ""},
    {".npy", "npy", {}, ""},
    {"raw data", "bin raw", {}, ""},
    {"HDF5", "h5 hdf5 he5 nc", {"libhdf5_serial.so.103", "libhdf5.so.103"}, "libhdf5-103-1"},
    {"FITS", "fits fit fts", {"libcfitsio.so.10"}, "libcfitsio10"},
    {"BMP", "bmp", {}, ""},
    {"PNM", "pbm pgm ppm pam pnm", {}, ""},
    {"PFM", "pfm", {}, ""},
    {"PNG", "png", {"libpng16.so.16"}, "libpng16-16"},
// The library whose structures the header declares.
#if JPEG_LIB_VERSION >= 80
    {"JPEG", "jpg jpeg", {"libjpeg.so.8"}, "libjpeg62-turbo"},
#elif JPEG_LIB_VERSION >= 70
    {"JPEG", "jpg jpeg", {"libjpeg.so.7"}, "libjpeg62-turbo"},
#else
    {"JPEG", "jpg jpeg", {"libjpeg.so.62"}, "libjpeg62-turbo"},
#endif
    {"TIFF", "tif tiff", {"libtiff.so.6"}, "libtiff6"},
    {"WebP", "webp", {"libwebp.so.7"}, "libwebp7"},
    {"deflated data", "gz npz", {"libz.so.1"}, "zlib1g"},
    {"Zstandard", "zst", {"libzstd.so.1"}, "libzstd1"},
    {"xz", "xz", {"liblzma.so.5"}, "liblzma5"},
    {"bzip2", "bz2", {"libbz2.so.1.0"}, "libbz2-1.0"},
    {"generators", "", {}, ""},
}};

SharedLibrary library_in(const ReadFormat& format) {
  SharedLibrary first(format.name, format.files[0], format.package);
  if (first.missing().empty() || format.files[1] == nullptr) return first;
  SharedLibrary second(format.name, format.files[1], format.package);
  return second.missing().empty() ? second : first;
}

}  // namespace

SharedLibrary library_of(std::string_view format) {
  return library_in(*std::find_if(all_formats.begin(), all_formats.end(),
                                  [&](const ReadFormat& each) { return each.name == format; }));
}

std::vector<FormatSupport> formats() {
  std::vector<FormatSupport> list;
  for (const ReadFormat& format : all_formats) {
    list.push_back({std::string(format.name), std::string(format.endings),
                    format.files[0] == nullptr ? "" : library_in(format).missing()});
  }
  return list;
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// LibTIFF over a Reader. What it has to say comes out as masu::Error; nothing is printed.
#pragma once

#include "io/reader.h"
#include "io/shared_library.h"

#include <tiffio.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <type_traits>

namespace masu::io {

struct LibTiff {
  SharedLibrary library{"TIFF", "libtiff.so.6", "libtiff6"};
  // clang-format off
#define MASU_TIFF_FUNCTIONS(X)                                                                     \
  X(TIFFClientOpenExt) X(TIFFClose) X(TIFFGetField) X(TIFFGetFieldDefaulted) X(TIFFSetField)       \
  X(TIFFGetStrileByteCount) X(TIFFGetStrileOffset) X(TIFFIsByteSwapped) X(TIFFIsCODECConfigured)   \
  X(TIFFIsTiled) X(TIFFLastDirectory) X(TIFFNumberOfDirectories) X(TIFFNumberOfStrips) X(TIFFNumberOfTiles) X(TIFFOpenOptionsAlloc)                \
  X(TIFFOpenOptionsFree) X(TIFFOpenOptionsSetErrorHandlerExtR) X(TIFFOpenOptionsSetMaxSingleMemAlloc) \
  X(TIFFOpenOptionsSetWarningHandlerExtR) X(TIFFReadEncodedStrip) X(TIFFReadEncodedTile)           \
  X(TIFFReadScanline) X(TIFFScanlineSize64) X(TIFFTileRowSize64)
  // clang-format on
  MASU_TIFF_FUNCTIONS(MASU_FOUND)
};

class TiffFile {
 public:
  // Reads the first directory.
  TiffFile(Reader& reader, const LibTiff& library);
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;
  ~TiffFile();

  [[nodiscard]] const LibTiff& library() const noexcept { return library_; }
  [[nodiscard]] TIFF* handle() const noexcept { return tiff_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }  // of the file
  [[nodiscard]] bool tiled() const { return library_.TIFFIsTiled(tiff_) != 0; }

  // Images in the file. Where the links between them are bad, those that are found.
  [[nodiscard]] std::uint64_t images() const {
    return library_.TIFFLastDirectory(tiff_) != 0 ? 1 : library_.TIFFNumberOfDirectories(tiff_);
  }

  // A tag that holds one number of this type, or what the standard says where it is absent.
  template <class T>
  [[nodiscard]] std::optional<T> field(std::uint32_t tag) const {
    T value{};
    if (library_.TIFFGetFieldDefaulted(tiff_, tag, &value) != 1) return std::nullopt;
    return value;
  }

  // Calls a function, which may give a negative number when it fails. An error or a warning about data is an error;
  // `what` says which data.
  template <class Function, class... Arguments>
  auto decode(std::string_view what, Function function, Arguments... arguments) {
    message_[0] = '\0';
    decoding_ = true;
    const auto result = function(tiff_, arguments...);
    decoding_ = false;
    bool failed = message_[0] != '\0' || thrown_;
    if constexpr (std::is_signed_v<decltype(result)>) failed |= result < 0;
    if (failed) fail(what);
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view what);
  void note(const char* format, std::va_list arguments) noexcept;

  static TiffFile& of(void* data) noexcept { return *static_cast<TiffFile*>(data); }
  static tmsize_t on_read(thandle_t data, void* target, tmsize_t bytes);
  static toff_t on_seek(thandle_t data, toff_t offset, int whence);
  static toff_t on_size(thandle_t data);
  static int on_error(TIFF* tiff, void* data, const char* module, const char* format, std::va_list arguments);
  static int on_warning(TIFF* tiff, void* data, const char* module, const char* format, std::va_list arguments);

  Reader& reader_;
  const LibTiff& library_;
  TIFF* tiff_ = nullptr;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::exception_ptr thrown_;
  std::array<char, 256> message_{};  // the first one of a call
  bool decoding_ = false;
};

}  // namespace masu::io

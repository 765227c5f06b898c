// SPDX-License-Identifier: Apache-2.0
// TIFF through LibTIFF, and how the samples of an image are stored, checked against what masu can read.
#pragma once

#include "io/reader.h"
#include "io/sources.h"

#include <masu/dtype.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu::io {

// LibTIFF over a Reader. What it has to say comes out as masu::Error; nothing is printed.

struct LibTiff {
  SharedLibrary library = library_of("TIFF");
  // clang-format off
#define MASU_TIFF_FUNCTIONS(X)                                                                     \
  X(TIFFClientOpenExt) X(TIFFClose) X(TIFFGetField) X(TIFFGetFieldDefaulted) X(TIFFSetField)       \
  X(TIFFFindField) X(TIFFFieldPassCount) X(TIFFFieldReadCount)                                     \
  X(TIFFGetStrileByteCount) X(TIFFGetStrileOffset) X(TIFFIsByteSwapped) X(TIFFIsCODECConfigured)   \
  X(TIFFIsTiled) X(TIFFLastDirectory) X(TIFFNumberOfDirectories) X(TIFFNumberOfStrips) X(TIFFNumberOfTiles) X(TIFFOpenOptionsAlloc)                \
  X(TIFFOpenOptionsFree) X(TIFFOpenOptionsSetErrorHandlerExtR) X(TIFFOpenOptionsSetMaxSingleMemAlloc) \
  X(TIFFOpenOptionsSetWarningHandlerExtR) X(TIFFReadEncodedStrip) X(TIFFReadEncodedTile)           \
  X(TIFFReadScanline) X(TIFFScanlineSize64) X(TIFFTileRowSize64)
  // clang-format on
  MASU_TIFF_FUNCTIONS(MASU_FOUND_FUNCTION)
};

class TiffFile {
 public:
  // Reads the first directory.
  TiffFile(Reader& reader, const LibTiff& library) : reader_(reader), library_(library), size_(reader.measured_size()) {
    const std::unique_ptr<TIFFOpenOptions, decltype(library.TIFFOpenOptionsFree)> options(
        library.TIFFOpenOptionsAlloc(), library.TIFFOpenOptionsFree);
    if (options == nullptr) reader.fail("tiff: libtiff cannot be started");
    constexpr tmsize_t largest_allocation = (tmsize_t{1} << 30) + (tmsize_t{1} << 16);
    library.TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), largest_allocation);
    library.TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
    library.TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, this);
    const auto no_write = [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; };
    const auto no_close = [](thandle_t) { return 0; };
    const auto no_map = [](thandle_t, void**, toff_t*) { return 0; };
    const auto no_unmap = [](thandle_t, void*, toff_t) {};
    // m: not mapped; c: long strips are not presented as short ones.
    tiff_ = library.TIFFClientOpenExt("image", "rmc", this, on_read, no_write, on_seek, no_close, on_size, no_map,
                                      no_unmap, options.get());
    if (tiff_ == nullptr || thrown_) {
      if (tiff_ != nullptr) library.TIFFClose(std::exchange(tiff_, nullptr));
      fail("its directory");
    }
  }
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;
  ~TiffFile() {
    if (tiff_ != nullptr) library_.TIFFClose(tiff_);
  }

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
  [[noreturn]] void fail(std::string_view what) {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    std::string reason = message_.data();
    for (char& c : reason)
      if (c < ' ' || c > '~') c = ' ';
    reader_.fail("tiff: {}: {}", what, reason.empty() ? "cannot be read" : reason);
  }
  void note(const char* format, std::va_list arguments) noexcept {
    if (message_[0] == '\0') std::vsnprintf(message_.data(), message_.size(), format, arguments);
  }

  static TiffFile& of(void* data) noexcept { return *static_cast<TiffFile*>(data); }
  static tmsize_t on_read(thandle_t data, void* target, tmsize_t bytes) {
    TiffFile& self = of(data);
    try {
      if (self.thrown_ || bytes <= 0) return 0;
      self.reader_.seek(self.position_);
      const std::size_t got = self.reader_.read(target, static_cast<std::size_t>(bytes));
      self.position_ += got;
      return static_cast<tmsize_t>(got);
    } catch (...) {
      self.thrown_ = std::current_exception();
      return 0;
    }
  }
  static toff_t on_seek(thandle_t data, toff_t offset, int whence) {
    TiffFile& self = of(data);
    if (whence == SEEK_CUR) offset += self.position_;
    if (whence == SEEK_END) offset += self.size_;
    return self.position_ = std::min<std::uint64_t>(offset, self.size_);
  }
  static toff_t on_size(thandle_t data) { return of(data).size_; }
  static int on_error(TIFF*, void* data, const char*, const char* format, std::va_list arguments) {
    of(data).note(format, arguments);
    return 1;  // libtiff's own handler is not called
  }
  static int on_warning(TIFF*, void* data, const char* module, const char* format, std::va_list arguments) {
    // Before data is decoded, what is said is about tags and headers.
    const bool about_data =
        of(data).decoding_ && !std::string_view(module == nullptr ? "" : module).ends_with("PreDecode");
    if (about_data) of(data).note(format, arguments);
    return 1;
  }

  Reader& reader_;
  const LibTiff& library_;
  TIFF* tiff_ = nullptr;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::exception_ptr thrown_;
  std::array<char, 256> message_{};  // the first one of a call
  bool decoding_ = false;
};

// The image is cut into cells, tiles or strips (cells as wide as the image), in rows and columns. Where the samples of
// a pixel are stored apart, each plane has cells of its own, one plane after the other.
struct TiffLayout {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  unsigned samples = 1;  // of a pixel, as stored
  unsigned bits = 8;     // of a sample
  unsigned planes = 1;   // 1: the samples of a pixel lie together
  unsigned compression = 1;
  unsigned most_bytes = 0;  // that a stored byte can stand for; 0: any number
  bool tiled = false;
  bool reversed_bits = false;
  std::uint64_t cell_width = 0;
  std::uint64_t cell_height = 0;
  Dtype dtype = Dtype::u8;             // of an element of the result
  std::vector<std::string> channels;   // of the result
  std::vector<std::uint16_t> palette;  // red, green, blue of each index; or empty
  std::vector<std::string> notes;      // for SourceInfo
  unsigned orientation = 1;
  [[nodiscard]] unsigned cell_samples() const noexcept { return samples / planes; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return (width + cell_width - 1) / cell_width; }
  [[nodiscard]] std::uint64_t bands() const noexcept { return (height + cell_height - 1) / cell_height; }
  // Bytes of one decoded row of a cell.
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return (cell_width * cell_samples() * bits + 7) / 8; }
  [[nodiscard]] std::uint64_t cell(unsigned plane, std::uint64_t band, std::uint64_t column) const noexcept {
    return (plane * bands() + band) * columns() + column;
  }
  [[nodiscard]] std::string_view cell_name() const noexcept { return tiled ? "tile" : "strip"; }
};

// Throws io, naming the reader, for what is malformed or not read.
TiffLayout tiff_layout(TiffFile& file, Reader& reader);

}  // namespace masu::io

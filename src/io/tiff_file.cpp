// SPDX-License-Identifier: Apache-2.0
#include "io/tiff_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace masu::io {
namespace {

constexpr tmsize_t largest_allocation = (tmsize_t{1} << 30) + (tmsize_t{1} << 16);

}  // namespace

TiffFile::TiffFile(Reader& reader, const LibTiff& library)
    : reader_(reader), library_(library), size_(reader.measured_size()) {
  const std::unique_ptr<TIFFOpenOptions, decltype(library.TIFFOpenOptionsFree)> options(library.TIFFOpenOptionsAlloc(),
                                                                                        library.TIFFOpenOptionsFree);
  if (options == nullptr) reader.fail("tiff: libtiff cannot be started");
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

TiffFile::~TiffFile() {
  if (tiff_ != nullptr) library_.TIFFClose(tiff_);
}

void TiffFile::fail(std::string_view what) {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  std::string reason = message_.data();
  for (char& c : reason)
    if (c < ' ' || c > '~') c = ' ';
  reader_.fail(fmt::format("tiff: {}: {}", what, reason.empty() ? "cannot be read" : reason));
}

void TiffFile::note(const char* format, std::va_list arguments) noexcept {
  if (message_[0] == '\0') std::vsnprintf(message_.data(), message_.size(), format, arguments);
}

tmsize_t TiffFile::on_read(thandle_t data, void* target, tmsize_t bytes) {
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

toff_t TiffFile::on_seek(thandle_t data, toff_t offset, int whence) {
  TiffFile& self = of(data);
  if (whence == SEEK_CUR) offset += self.position_;
  if (whence == SEEK_END) offset += self.size_;
  return self.position_ = std::min<std::uint64_t>(offset, self.size_);
}

toff_t TiffFile::on_size(thandle_t data) {
  return of(data).size_;
}

int TiffFile::on_error(TIFF*, void* data, const char*, const char* format, std::va_list arguments) {
  of(data).note(format, arguments);
  return 1;  // libtiff's own handler is not called
}

int TiffFile::on_warning(TIFF*, void* data, const char* module, const char* format, std::va_list arguments) {
  // Before data is decoded, what is said is about tags and headers.
  const bool about_data =
      of(data).decoding_ && !std::string_view(module == nullptr ? "" : module).ends_with("PreDecode");
  if (about_data) of(data).note(format, arguments);
  return 1;
}

}  // namespace masu::io

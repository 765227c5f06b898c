// SPDX-License-Identifier: Apache-2.0
#include "io/inflate.h"

#include "io/shared_library.h"

#include <fmt/format.h>
#include <algorithm>
#include <new>
#include <utility>

#if __has_include(<zlib.h>)
#define MASU_HAS_ZLIB
#include <zlib.h>
#endif

namespace masu::io {

#ifdef MASU_HAS_ZLIB
namespace {

struct LibZ {
#define MASU_ZLIB_FUNCTIONS(X) X(inflateInit2_) X(inflate) X(inflateReset) X(inflateEnd) X(crc32_z)
#define MASU_DECLARE(name) decltype(&::name) name = nullptr;
  MASU_ZLIB_FUNCTIONS(MASU_DECLARE)
#undef MASU_DECLARE
  SharedLibrary library{"deflated data", "libz.so.1", "zlib1g"};

#define MASU_FIND(name) library.find(name, #name);
  LibZ() {
    MASU_ZLIB_FUNCTIONS(MASU_FIND)
  }
#undef MASU_FIND
  static const LibZ& instance() {
    static const LibZ opened;
    return opened;
  }
};

constexpr std::size_t largest_step = std::size_t{1} << 30;

}  // namespace

struct Inflater::State {
  const LibZ& library = LibZ::instance();
  z_stream stream{};
};

Inflater::Inflater(std::string name, std::string_view format, Deflated form)
    : state_(std::make_unique<State>()), name_(std::move(name)), format_(format) {
  state_->library.library.require(name_);
  const int window = form == Deflated::gzip ? MAX_WBITS + 16 : -MAX_WBITS;
  const int result = state_->library.inflateInit2_(&state_->stream, window, ZLIB_VERSION, sizeof(z_stream));
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK) fail_io(name_, fmt::format("{}: zlib cannot be started", format_));
}

Inflater::~Inflater() {
  if (state_->library.inflateEnd != nullptr) state_->library.inflateEnd(&state_->stream);
}

std::size_t Inflater::decode(Reader& reader, std::byte* target, std::size_t bytes) {
  z_stream& stream = state_->stream;
  bytes = std::min(bytes, largest_step);
  stream.next_out = reinterpret_cast<Bytef*>(target);
  stream.avail_out = static_cast<uInt>(bytes);
  while (!ended_ && stream.avail_out == bytes) {
    const auto in = reader.peek(1);
    if (in.empty())
      reader.fail(fmt::format("truncated: the file ends at byte {} inside {} data", reader.position(), format_));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write there
    stream.avail_in = static_cast<uInt>(in.size());
    const int result = state_->library.inflate(&stream, Z_NO_FLUSH);
    reader.consume(in.size() - stream.avail_in);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END) {
      reader.fail(fmt::format("{}: {} (at byte {})", format_,
                              stream.msg == nullptr ? "the data are damaged" : stream.msg, reader.position()));
    }
    ended_ = result == Z_STREAM_END;
  }
  return bytes - stream.avail_out;
}

void Inflater::begin_again() {
  state_->library.inflateReset(&state_->stream);
  ended_ = false;
}

std::uint32_t Inflater::crc32(std::uint32_t of_those_before, std::span<const std::byte> bytes) const {
  return static_cast<std::uint32_t>(
      state_->library.crc32_z(of_those_before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

#else

struct Inflater::State {};

Inflater::Inflater(std::string name, std::string_view format, Deflated /*form*/) : format_(format) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: {} needs zlib, which masu was built without (Debian: zlib1g-dev)", name, format));
}
Inflater::~Inflater() = default;
std::size_t Inflater::decode(Reader& /*reader*/, std::byte* /*target*/, std::size_t /*bytes*/) {
  return 0;
}
void Inflater::begin_again() {}
std::uint32_t Inflater::crc32(std::uint32_t of_those_before, std::span<const std::byte> /*bytes*/) const {
  return of_those_before;
}

#endif

}  // namespace masu::io

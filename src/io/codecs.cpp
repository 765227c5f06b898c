// SPDX-License-Identifier: Apache-2.0
// Compressions of one stream of bytes beside gzip: Zstandard, frames of data one after another, and those that are to
// be skipped; xz and bzip2, streams one after another. Their libraries are opened when they are first needed. What is
// declared here of liblzma and libbz2 is their documented ABI, the same since their files have these names.
#include "io/sources.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#if __has_include(<zstd.h>)
#define MASU_HAS_ZSTD
#include <zstd.h>
#endif

namespace masu::io {
namespace {

bool is_zstd_frame(std::span<const std::byte> head) noexcept {
  return head.size() >= 4 && load_little<std::uint32_t>(head.data()) == 0xfd2fb528;
}

bool is_zstd(std::span<const std::byte> head) noexcept {
  if (head.size() < 4) return false;
  return is_zstd_frame(head) || (load_little<std::uint32_t>(head.data()) & 0xfffffff0) == 0x184d2a50;  // skipped
}

bool is_xz(std::span<const std::byte> head) noexcept {
  return begins(head, std::string_view("\xfd\x37zXZ\0", 6));
}

// Its level, and the mark of a block or of the end: text may begin with BZh.
bool is_bzip2(std::span<const std::byte> head) noexcept {
  return head.size() >= 10 && begins(head, "BZh") && head[3] >= std::byte{'1'} && head[3] <= std::byte{'9'} &&
         (begins(head.subspan(4), "1AY&SY") || begins(head.subspan(4), "\x17rE8P\x90"));
}

}  // namespace

void refuse_unbuilt(const Reader& reader, std::string_view format, std::string_view library, std::string_view package) {
  throw Error(ErrorCode::unsupported, fmt::format("{}: {} needs {}, which masu was built without (Debian: {})",
                                                  reader.name(), format, library, package));
}

#ifdef MASU_HAS_ZSTD
namespace {

struct LibZstd {
  SharedLibrary library = library_of("Zstandard");
#define MASU_ZSTD_FUNCTIONS(X) \
  X(ZSTD_createDCtx) X(ZSTD_freeDCtx) X(ZSTD_decompressStream) X(ZSTD_DCtx_reset) X(ZSTD_isError) X(ZSTD_getErrorName)
  MASU_ZSTD_FUNCTIONS(MASU_FOUND_FUNCTION)
};

// The memory of a frame's window is bounded by libzstd itself, by 128 MiB.
class ZstdStream final : public DecodedStream {
 public:
  explicit ZstdStream(Reader reader) : DecodedStream(std::move(reader)) {
    zstd_.library.require(reader_.name());
    context_.reset(zstd_.ZSTD_createDCtx());
    if (context_ == nullptr) throw std::bad_alloc();
  }

 private:
  std::size_t decode(std::byte* target, std::size_t bytes) override {
    ZSTD_outBuffer out{target, bytes, 0};
    while (out.pos == 0) {
      const auto bytes_in = reader_.peek(between_frames_ ? 4 : 1);
      if (bytes_in.empty() && between_frames_) {
        if (!has_data_) reader_.fail("zstd: has no frame with data");
        return 0;
      }
      has_data_ = has_data_ || (between_frames_ && is_zstd_frame(bytes_in));
      ZSTD_inBuffer in{bytes_in.data(), bytes_in.size(), 0};
      const std::size_t result = zstd_.ZSTD_decompressStream(context_.get(), &out, &in);
      reader_.consume(in.pos);
      if (zstd_.ZSTD_isError(result) != 0) {
        reader_.fail("zstd: {} (at byte {})", zstd_.ZSTD_getErrorName(result), reader_.position());
      }
      between_frames_ = result == 0;
      // Without more input it may still have output to give, but not more than that.
      if (bytes_in.empty() && out.pos == 0 && !between_frames_)
        reader_.fail("truncated: the file ends at byte {} inside zstd data", reader_.position());
    }
    return out.pos;
  }

  void begin_again() override {
    reader_.seek(0);
    (void)zstd_.ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    between_frames_ = true;
  }

  const LibZstd& zstd_ = opened<LibZstd>();
  std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context_{nullptr, zstd_.ZSTD_freeDCtx};
  bool between_frames_ = true;
  bool has_data_ = false;  // not only frames that are skipped
};

std::unique_ptr<ByteStream> zstd_stream(Reader reader) {
  return std::make_unique<ZstdStream>(std::move(reader));
}
}  // namespace

#else

namespace {
std::unique_ptr<ByteStream> zstd_stream(Reader reader) {
  refuse_unbuilt(reader, "zstd", "libzstd", "libzstd-dev");
}
}  // namespace

#endif

namespace {

// lzma_stream.
struct LzmaStream {
  const std::byte* next_in = nullptr;
  std::size_t avail_in = 0;
  std::uint64_t total_in = 0;
  std::byte* next_out = nullptr;
  std::size_t avail_out = 0;
  std::uint64_t total_out = 0;
  const void* allocator = nullptr;
  void* internal = nullptr;
  std::array<void*, 4> pointers{};
  std::array<std::uint64_t, 2> numbers{};
  std::array<std::size_t, 2> sizes{};
  std::array<int, 2> words{};
};

struct LibLzma {
  SharedLibrary library = library_of("xz");
  int (*lzma_stream_decoder)(LzmaStream*, std::uint64_t, std::uint32_t) = library.function("lzma_stream_decoder");
  int (*lzma_code)(LzmaStream*, int) = library.function("lzma_code");
  void (*lzma_end)(LzmaStream*) = library.function("lzma_end");
};

class XzStream final : public DecodedStream {
 public:
  explicit XzStream(Reader reader) : DecodedStream(std::move(reader)) {
    xz_.library.require(reader_.name());
    start();
  }
  XzStream(const XzStream&) = delete;
  XzStream& operator=(const XzStream&) = delete;
  ~XzStream() override { xz_.lzma_end(&stream_); }

 private:
  static constexpr std::uint64_t most_memory = std::uint64_t{1} << 28;  // `xz -9` needs 65 MiB
  static constexpr std::uint32_t streams_follow = 8;                    // LZMA_CONCATENATED

  void start() {
    if (xz_.lzma_stream_decoder(&stream_, most_memory, streams_follow) != 0) throw std::bad_alloc();
    ended_ = false;
  }

  std::size_t decode(std::byte* target, std::size_t bytes) override {
    stream_.next_out = target;
    stream_.avail_out = bytes;
    while (!ended_ && stream_.avail_out == bytes) {
      const auto in = reader_.peek(1);
      stream_.next_in = in.data();
      stream_.avail_in = in.size();
      const int result = xz_.lzma_code(&stream_, in.empty() ? 3 : 0);  // LZMA_FINISH, LZMA_RUN
      reader_.consume(in.size() - stream_.avail_in);
      ended_ = result == 1;
      if (result > 1) refuse(result);
    }
    return bytes - stream_.avail_out;
  }

  [[noreturn]] void refuse(int result) const {
    constexpr std::array<std::string_view, 4> reasons = {
        // of the results from 6 on
        "needs more than 256 MiB of memory", "other bytes follow the compressed data",
        "has options that liblzma does not know", "the data are damaged"};
    if (result == 5) throw std::bad_alloc();
    if (result == 10) reader_.fail("truncated: the file ends at byte {} inside xz data", reader_.position());
    const auto known = static_cast<std::size_t>(result - 6);
    reader_.fail("xz: {} (at byte {})", known < reasons.size() ? reasons[known] : "liblzma failed", reader_.position());
  }

  void begin_again() override {
    reader_.seek(0);
    start();
  }

  const LibLzma& xz_ = opened<LibLzma>();
  LzmaStream stream_;
  bool ended_ = false;
};

// bz_stream.
struct BzStream {
  std::byte* next_in = nullptr;
  unsigned avail_in = 0;
  std::array<unsigned, 2> total_in{};
  std::byte* next_out = nullptr;
  unsigned avail_out = 0;
  std::array<unsigned, 2> total_out{};
  void* state = nullptr;
  void* allocate = nullptr;
  void* release = nullptr;
  void* opaque = nullptr;
};

struct LibBz2 {
  SharedLibrary library = library_of("bzip2");
  int (*BZ2_bzDecompressInit)(BzStream*, int, int) = library.function("BZ2_bzDecompressInit");
  int (*BZ2_bzDecompress)(BzStream*) = library.function("BZ2_bzDecompress");
  int (*BZ2_bzDecompressEnd)(BzStream*) = library.function("BZ2_bzDecompressEnd");
};

class Bzip2Stream final : public DecodedStream {
 public:
  explicit Bzip2Stream(Reader reader) : DecodedStream(std::move(reader)) {
    bz2_.library.require(reader_.name());
    start();
  }
  Bzip2Stream(const Bzip2Stream&) = delete;
  Bzip2Stream& operator=(const Bzip2Stream&) = delete;
  ~Bzip2Stream() override { bz2_.BZ2_bzDecompressEnd(&stream_); }

 private:
  static constexpr std::size_t largest_step = std::size_t{1} << 30;

  void start() {
    stream_ = {};
    if (bz2_.BZ2_bzDecompressInit(&stream_, 0, 0) != 0) throw std::bad_alloc();
  }

  std::size_t decode(std::byte* target, std::size_t bytes) override {
    bytes = std::min(bytes, largest_step);
    stream_.next_out = target;
    stream_.avail_out = static_cast<unsigned>(bytes);
    while (stream_.avail_out == bytes) {
      const auto in = reader_.peek(between_streams_ ? 10 : 1);
      if (between_streams_) {
        if (in.empty()) break;
        if (!is_bzip2(in)) reader_.fail("bzip2: other bytes follow the compressed data");
        const BzStream out = stream_;
        bz2_.BZ2_bzDecompressEnd(&stream_);
        start();
        stream_.next_out = out.next_out;
        stream_.avail_out = out.avail_out;
        between_streams_ = false;
      }
      stream_.next_in = const_cast<std::byte*>(in.data());  // libbz2 does not write there
      stream_.avail_in = static_cast<unsigned>(in.size());
      const int result = bz2_.BZ2_bzDecompress(&stream_);
      reader_.consume(in.size() - stream_.avail_in);
      if (result == -3) throw std::bad_alloc();
      if (result < 0) reader_.fail("bzip2: the data are damaged (at byte {})", reader_.position());
      between_streams_ = result == 4;  // BZ_STREAM_END
      // Without more input it may still have output to give, but not more than that.
      if (in.empty() && stream_.avail_out == bytes && !between_streams_)
        reader_.fail("truncated: the file ends at byte {} inside bzip2 data", reader_.position());
    }
    return bytes - stream_.avail_out;
  }

  void begin_again() override {
    reader_.seek(0);
    bz2_.BZ2_bzDecompressEnd(&stream_);
    start();
    between_streams_ = false;
  }

  const LibBz2& bz2_ = opened<LibBz2>();
  BzStream stream_;
  bool between_streams_ = false;
};

template <class Stream>
std::unique_ptr<ByteStream> stream_of(Reader reader) {
  return std::make_unique<Stream>(std::move(reader));
}

constexpr std::array<Codec, 4> all_codecs = {{{"gzip", "gz", is_gzip, gzip_stream},
                                              {"zstd", "zst", is_zstd, zstd_stream},
                                              {"xz", "xz", is_xz, stream_of<XzStream>},
                                              {"bzip2", "bz2", is_bzip2, stream_of<Bzip2Stream>}}};

}  // namespace

std::span<const Codec> codecs() noexcept {
  return all_codecs;
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// Zstandard through libzstd: frames of data one behind another, and those that are to be skipped.
#include "io/sources.h"

#include <fmt/format.h>
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

}  // namespace

#ifdef MASU_HAS_ZSTD
namespace {

struct LibZstd {
  SharedLibrary library{"Zstandard", "libzstd.so.1", "libzstd1"};
#define MASU_ZSTD_FUNCTIONS(X) \
  X(ZSTD_createDCtx) X(ZSTD_freeDCtx) X(ZSTD_decompressStream) X(ZSTD_DCtx_reset) X(ZSTD_isError) X(ZSTD_getErrorName)
  MASU_ZSTD_FUNCTIONS(MASU_FOUND)
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
        reader_.fail(fmt::format("zstd: {} (at byte {})", zstd_.ZSTD_getErrorName(result), reader_.position()));
      }
      between_frames_ = result == 0;
      // Without more input it may still have output to give, but not more than that.
      if (bytes_in.empty() && out.pos == 0 && !between_frames_)
        reader_.fail(fmt::format("truncated: the file ends at byte {} inside zstd data", reader_.position()));
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

}  // namespace

std::unique_ptr<ByteStream> zstd_stream(Reader reader) {
  return std::make_unique<ZstdStream>(std::move(reader));
}

#else

std::unique_ptr<ByteStream> zstd_stream(Reader reader) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: zstd needs libzstd, which masu was built without (Debian: libzstd-dev)", reader.name()));
}

#endif

bool is_zstd(std::span<const std::byte> head) noexcept {
  if (head.size() < 4) return false;
  return is_zstd_frame(head) || (load_little<std::uint32_t>(head.data()) & 0xfffffff0) == 0x184d2a50;  // skipped
}

}  // namespace masu::io

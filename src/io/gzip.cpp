// SPDX-License-Identifier: Apache-2.0
// gzip: one member or several, as `cat` and bgzip leave them.
#include "io/decoded.h"
#include "io/inflate.h"

#include <algorithm>
#include <utility>

namespace masu::io {
namespace {

class GzipStream final : public DecodedStream {
 public:
  explicit GzipStream(Reader reader)
      : DecodedStream(std::move(reader)), inflater_(reader_.name(), "gzip", Deflated::gzip) {}

 private:
  std::size_t decode(std::byte* target, std::size_t bytes) override {
    for (;;) {
      const std::size_t got = inflater_.decode(reader_, target, bytes);
      if (got != 0) return got;
      if (!next_member()) return 0;
      inflater_.begin_again();
    }
  }

  // Zeros behind the last one, as tapes have them, are passed over.
  bool next_member() {
    for (;;) {
      const auto in = reader_.peek(4);
      if (in.empty()) return false;
      if (is_gzip(in)) return true;
      const auto other = std::find_if(in.begin(), in.end(), [](std::byte b) { return b != std::byte{0}; });
      if (other != in.end()) reader_.fail("gzip: other bytes stand behind the compressed data");
      reader_.consume(in.size());
    }
  }

  void begin_again() override {
    reader_.seek(0);
    inflater_.begin_again();
  }

  Inflater inflater_;
};

}  // namespace

bool is_gzip(std::span<const std::byte> head) noexcept {
  // The method is deflate, and of the flags three are reserved.
  return head.size() >= 4 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b} && head[2] == std::byte{8} &&
         (head[3] & std::byte{0xe0}) == std::byte{0};
}

std::unique_ptr<ByteStream> gzip_stream(Reader reader) {
  return std::make_unique<GzipStream>(std::move(reader));
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// JPEG through libjpeg, row by row. An image that comes in several scans (progressive) is held in memory.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/jpeg_decoder.h"
#include "io/sources.h"

namespace masu::io {
namespace {

constexpr std::uint64_t largest_frame = std::uint64_t{1} << 30;
// A pipe is measured for what is larger.
constexpr std::uint64_t believed_frame = std::uint64_t{1} << 24;
constexpr std::uint64_t believed_blocks = std::uint64_t{1} << 20;
// What a file of arithmetic coding may stand for. It has no smallest code, and no end that can be told from zeros.
constexpr std::uint64_t arithmetic_blocks = std::uint64_t{1} << 18;
constexpr std::uint64_t arithmetic_blocks_a_byte = 64;

class JpegSource final : public RowSource {
 public:
  JpegSource(Input input, JpegHeader header, const LibJpeg& library)
      : RowSource(std::move(input), "jpeg", Dtype::u8, header.height, header.width, std::move(header.channels)),
        decoder_(reader_, library) {}

 private:
  void start() override {
    reader_.seek(0);
    const JpegHeader now = decoder_.open();
    if (now.height != info_.shape[0] || now.width != info_.shape[1] || now.channels != info_.channels)
      reader_.fail("jpeg: the file changed while it was read");
  }
  void next_row(std::uint64_t row, std::byte* target) override {
    if (row == 0) decoder_.start();  // may read the whole file, which a pipe need not keep any more
    decoder_.read_row(target);
  }
  void finish() override { decoder_.end(); }

  JpegDecoder decoder_;
};

// Compares what the header promises with the size of the file, before memory is reserved for it.
void check(Reader& reader, const JpegHeader& header) {
  if (header.frame_bytes > largest_frame)
    reader.fail(
        fmt::format("jpeg: an image in several scans (progressive) is held in memory as a whole; {} x {} pixels need "
                    "{} MiB, the limit is {} MiB",
                    header.width, header.height, header.frame_bytes >> 20, largest_frame >> 20));
  const std::uint64_t believed = header.arithmetic ? arithmetic_blocks : believed_blocks;
  if (!reader.size() && header.frame_bytes <= believed_frame && header.blocks <= believed) return;
  const std::uint64_t size = reader.measured_size();
  // Huffman's codes take a bit for each block at least.
  const std::uint64_t most =
      header.arithmetic ? std::max(arithmetic_blocks, arithmetic_blocks_a_byte * size) : 8 * size;
  if (header.blocks > most)
    reader.fail(fmt::format("truncated: jpeg: {} x {} pixels do not fit in a file of {} bytes", header.width,
                            header.height, size));
}

}  // namespace

bool is_jpeg(std::span<const std::byte> head) noexcept {
  return head.size() >= 3 && head[0] == std::byte{0xff} && head[1] == std::byte{0xd8} && head[2] == std::byte{0xff};
}

std::unique_ptr<Source> open_jpeg(Input input) {
  if (!is_jpeg(input.reader.peek(3))) input.reader.fail("jpeg: does not begin as JPEG");
  const LibJpeg& library = LibJpeg::instance();
  library.library.require(input.reader.name());
  // The header decides the channels, so it is read once before the source is made.
  JpegHeader header = JpegDecoder(input.reader, library).open();
  check(input.reader, header);
  return std::make_unique<JpegSource>(std::move(input), std::move(header), library);
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// Windows and OS/2 bitmaps. Rows are decoded one at a time, top row first; bottom-up files are read backwards.
#include "io/reader.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace masu::io {
namespace {

// Run-length encoded bitmaps, one row at a time and in any order.

class RleRows {
 public:
  // Reads the codes once to find where each stored row (0 is the bottom one) begins.
  RleRows(Reader& reader, std::uint64_t start, std::uint64_t width, std::uint64_t height, unsigned bits)
      : reader_(reader), width_(width), height_(height), bits_(bits) {
    reader_.seek(start);
    Position at;
    starts_.push_back({0, 0, start});
    while (!at.ended) {
      step(at, {});
      if (!at.ended && at.row != starts_.back().row) starts_.push_back({at.row, at.x, reader_.position()});
    }
  }
  // Palette indices of a stored row; what the codes skip is 0.
  void row(std::uint64_t row, std::span<std::byte> target) {
    std::fill(target.begin(), target.end(), std::byte{0});
    const auto found = std::lower_bound(starts_.begin(), starts_.end(), row,
                                        [](const Start& start, std::uint64_t wanted) { return start.row < wanted; });
    if (found == starts_.end() || found->row != row) return;
    Position at{row, found->x, false};
    reader_.seek(found->byte);
    while (!at.ended && at.row == row) step(at, target);
  }

 private:
  struct Start {
    std::uint64_t row;
    std::uint64_t x;
    std::uint64_t byte;
  };
  struct Position {
    std::uint64_t row = 0;
    std::uint64_t x = 0;
    bool ended = false;
  };
  // Decodes one code; pixels go to `target` where it is not empty.
  void step(Position& at, std::span<std::byte> target) {
    std::array<std::byte, 2> code{};
    reader_.read_exact(code.data(), 2, "the runs");
    const auto first = std::to_integer<unsigned>(code[0]);
    const auto second = std::to_integer<unsigned>(code[1]);
    if (first != 0) {
      for (unsigned i = 0; i < first; ++i)
        put(at, target, bits_ == 8 ? second : (i % 2 == 0 ? second >> 4 : second & 15U));
      return;
    }
    if (second == 0) {
      ++at.row;
      at.x = 0;
    } else if (second == 1) {
      at.ended = true;
    } else if (second == 2) {
      reader_.read_exact(code.data(), 2, "the runs");
      at.x += std::to_integer<unsigned>(code[0]);
      at.row += std::to_integer<unsigned>(code[1]);
      if (at.x > width_ || at.row > height_)
        reader_.fail("bmp: a skip leaves the image at byte {}", reader_.position());
    } else {
      std::array<std::byte, 256> literal{};
      const std::size_t bytes = bits_ == 8 ? second : (second + 1) / 2;
      reader_.read_exact(literal.data(), bytes + bytes % 2, "the runs");
      for (unsigned i = 0; i < second; ++i) {
        const auto pair = std::to_integer<unsigned>(literal[bits_ == 8 ? i : i / 2]);
        put(at, target, bits_ == 8 ? pair : (i % 2 == 0 ? pair >> 4 : pair & 15U));
      }
    }
    // Rows below the last one need no end mark.
    if (at.row >= height_ && second != 0) at.ended = true;
  }
  void put(Position& at, std::span<std::byte> target, unsigned index) {
    if (at.row >= height_) reader_.fail("bmp: a run leaves the image at byte {}", reader_.position());
    if (at.x >= width_) return;  // writers pad rows: what does not fit is cut
    if (!target.empty()) target[at.x] = static_cast<std::byte>(index);
    ++at.x;
  }

  Reader& reader_;
  std::uint64_t width_;
  std::uint64_t height_;
  unsigned bits_;
  std::vector<Start> starts_;  // by row
};

struct Mask {
  std::uint32_t bits = 0;
  [[nodiscard]] std::byte value(std::uint32_t pixel) const noexcept {
    if (bits == 0) return std::byte{0};
    const int shift = std::countr_zero(bits);
    const std::uint64_t largest = bits >> shift;
    const std::uint64_t sample = (pixel & bits) >> shift;
    return static_cast<std::byte>(largest == 255 ? sample : (sample * 255 + largest / 2) / largest);
  }
  [[nodiscard]] bool contiguous() const noexcept {
    return bits == 0 || std::has_single_bit((std::uint64_t{bits} >> std::countr_zero(bits)) + 1);
  }
};

struct BmpHeader {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  bool top_down = false;
  unsigned bits = 0;         // of a pixel
  unsigned compression = 0;  // 0 none, 1 RLE8, 2 RLE4, 3 and 6 bit masks
  std::uint64_t data = 0;    // byte of the first pixel
  std::array<Mask, 4> masks{};
  std::vector<std::array<std::byte, 3>> palette;  // red, green, blue
  bool gray = false;                              // the palette has only grays
  bool bilevel = false;                           // these are black (0) and white (1)

  [[nodiscard]] bool rle() const noexcept { return compression == 1 || compression == 2; }
  [[nodiscard]] std::uint64_t stride() const noexcept { return (width * bits + 31) / 32 * 4; }
  [[nodiscard]] std::uint64_t row_bytes() const noexcept { return (width * bits + 7) / 8; }
  [[nodiscard]] std::uint64_t channels() const noexcept { return gray ? 1 : masks[3].bits != 0 ? 4 : 3; }
};

constexpr unsigned core_header = 12;

bool is_header_size(std::uint32_t size) noexcept {
  constexpr std::array<std::uint32_t, 8> sizes = {core_header, 16, 40, 52, 56, 64, 108, 124};
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

void read_palette(Reader& reader, BmpHeader& header, std::uint32_t used, std::uint64_t entry_bytes) {
  const std::uint64_t most = std::uint64_t{1} << header.bits;
  if (used > most) reader.fail("bmp: {} palette entries, but {} bits a pixel", used, header.bits);
  std::uint64_t entries = used == 0 ? most : used;
  if (header.data < reader.position()) reader.fail("bmp: the pixel data begin inside the header");
  entries = std::min(entries, (header.data - reader.position()) / entry_bytes);
  if (entries == 0) reader.fail("bmp: there is no palette between the header and the pixel data");
  header.gray = true;
  for (std::uint64_t i = 0; i < entries; ++i) {
    std::array<std::byte, 4> entry{};
    reader.read_exact(entry.data(), entry_bytes, "the palette");
    header.palette.push_back({entry[2], entry[1], entry[0]});
    header.gray = header.gray && entry[0] == entry[1] && entry[1] == entry[2];
  }
  // Black and white are values of one bit, as in other formats.
  auto& palette = header.palette;
  constexpr std::byte white{255};
  header.bilevel = header.gray && header.bits == 1 && entries == 2 && (palette[0][0] ^ palette[1][0]) == white &&
                   (palette[0][0] == white || palette[1][0] == white);
  if (header.bilevel)
    for (auto& entry : palette) entry[0] = entry[0] == white ? std::byte{1} : std::byte{0};
}

void read_masks(Reader& reader, BmpHeader& header, std::span<const std::byte> info) {
  if (header.compression == 3 || header.compression == 6) {
    std::array<std::byte, 16> stored{};
    std::size_t count = 0;
    if (info.size() >= 52) {
      count = info.size() >= 56 ? 4 : 3;
      std::copy_n(info.begin() + 40, count * 4, stored.begin());
    } else {
      count = header.compression == 6 ? 4 : 3;
      reader.read_exact(stored.data(), count * 4, "the bit masks");
    }
    for (std::size_t i = 0; i < count; ++i) header.masks[i].bits = load_little<std::uint32_t>(&stored[i * 4]);
    for (const Mask& mask : header.masks)
      if (!mask.contiguous() || (header.bits == 16 && mask.bits > 0xffff))
        reader.fail("bmp: the bit mask {:#010x} is not one run of bits of the pixel", mask.bits);
  } else if (header.bits == 16) {
    header.masks = {Mask{0x7c00}, Mask{0x3e0}, Mask{0x1f}, Mask{0}};
  } else {
    header.masks = {Mask{0xff0000}, Mask{0xff00}, Mask{0xff}, Mask{0}};
  }
}

BmpHeader read_bmp_header(Reader& reader) {
  std::array<std::byte, 18> file{};
  reader.read_exact(file.data(), file.size(), "the header");
  if (!is_bmp(file)) reader.fail("bmp: does not begin with BM and a known header");
  BmpHeader header;
  header.data = load_little<std::uint32_t>(&file[10]);
  const auto size = load_little<std::uint32_t>(&file[14]);
  if (!is_header_size(size)) reader.fail("bmp: a header of {} bytes is not known", size);
  std::vector<std::byte> info(size);
  std::copy_n(file.begin() + 14, 4, info.begin());
  reader.read_exact(info.data() + 4, size - 4, "the header");

  std::int64_t height = 0;
  std::int64_t width = 0;
  unsigned planes = 0;
  std::uint32_t used = 0;
  if (size == core_header) {
    width = load_little<std::uint16_t>(&info[4]);
    height = load_little<std::uint16_t>(&info[6]);
    planes = load_little<std::uint16_t>(&info[8]);
    header.bits = load_little<std::uint16_t>(&info[10]);
  } else {
    width = static_cast<std::int32_t>(load_little<std::uint32_t>(&info[4]));
    height = static_cast<std::int32_t>(load_little<std::uint32_t>(&info[8]));
    planes = load_little<std::uint16_t>(&info[12]);
    header.bits = load_little<std::uint16_t>(&info[14]);
    if (size >= 40) {
      header.compression = load_little<std::uint32_t>(&info[16]);
      used = load_little<std::uint32_t>(&info[32]);
    }
  }
  header.top_down = height < 0;
  if (width <= 0 || height == 0) reader.fail("bmp: {} x {} pixels", width, height);
  header.width = static_cast<std::uint64_t>(width);
  header.height = static_cast<std::uint64_t>(height < 0 ? -height : height);
  if (planes != 1) reader.fail("bmp: planes must be 1, got {}", planes);
  const unsigned bits = header.bits;
  const bool indexed = bits == 1 || bits == 2 || bits == 4 || bits == 8;
  if (!indexed && bits != 16 && bits != 24 && bits != 32) reader.fail("bmp: {} bits a pixel", bits);
  const unsigned compression = header.compression;
  const bool fits = compression == 0 || (compression == 1 && bits == 8) || (compression == 2 && bits == 4) ||
                    ((compression == 3 || compression == 6) && (bits == 16 || bits == 32) && size != 64);
  if (!fits) reader.fail("bmp: compression {} with {} bits a pixel is not read", compression, bits);
  if (header.rle() && header.top_down) reader.fail("bmp: a run-length encoded bitmap cannot be top-down");

  if (indexed) {
    const std::uint64_t entry_bytes = size == core_header ? 3 : 4;
    if (header.data == 0) header.data = reader.position() + (used == 0 ? 1U << bits : used) * entry_bytes;
    read_palette(reader, header, used, entry_bytes);
  } else {
    read_masks(reader, header, info);
    if (header.data == 0) header.data = reader.position();
  }
  if (header.data < reader.position()) reader.fail("bmp: the pixel data begin inside the header");
  return header;
}

class BmpSource final : public RowSource {
 public:
  BmpSource(Input input, BmpHeader header)
      : RowSource(std::move(input), "bmp", Dtype::u8, header.height, header.width, channel_names(header.channels())),
        header_(std::move(header)) {
    if (header_.bilevel) note_largest(1);
    const std::string what = fmt::format("bmp: {} x {} pixels of {} bits", header_.width, header_.height, header_.bits);
    if (header_.rle()) {
      // Runs can stand for many pixels, or none at all; what no such file holds is refused.
      const std::uint64_t size = reader_.measured_size();
      const std::uint64_t codes = size - std::min(size, header_.data);
      const std::uint64_t most = std::max(codes * 128, std::uint64_t{1} << 26);
      if (codes < 2 || header_.width * header_.height > most)
        reader_.fail("{}, but its runs end after {} bytes", what, codes);
    } else {
      // The padding of the last row may be missing.
      const auto before = checked_product(header_.stride(), header_.height - 1);
      if (!before) reader_.fail(what + " are absurd");
      reader_.require(header_.data, *before + header_.row_bytes(), row_elements(), what);
    }
    if (header_.rle() || !header_.top_down) keep_all();
  }

 private:
  void start() override {
    if (header_.rle()) rle_.emplace(reader_, header_.data, header_.width, header_.height, header_.bits);
  }

  void next_row(std::uint64_t row, std::byte* target) override {
    const std::uint64_t stored_row = header_.top_down ? row : header_.height - 1 - row;
    if (header_.rle()) {
      stored_.resize(header_.width);
      rle_->row(stored_row, stored_);
      for (std::uint64_t x = 0; x < header_.width; ++x)
        target = put(std::to_integer<std::uint32_t>(stored_[x]), target);
      return;
    }
    stored_.resize(header_.row_bytes());
    reader_.seek(header_.data + stored_row * header_.stride());
    reader_.read_exact(stored_.data(), stored_.size(), "the pixels");
    const std::byte* in = stored_.data();
    switch (header_.bits) {
      case 1: unpack<1>(in, target); break;
      case 2: unpack<2>(in, target); break;
      case 4: unpack<4>(in, target); break;
      case 8: unpack<8>(in, target); break;
      case 16: unmask<std::uint16_t>(in, target); break;
      case 32: unmask<std::uint32_t>(in, target); break;
      default: reverse(in, 3, target);
    }
  }

  // Pixels of `bytes` that begin with blue, green and red.
  void reverse(const std::byte* in, std::size_t bytes, std::byte* target) const {
    for (std::uint64_t x = 0; x < header_.width; ++x, in += bytes, target += 3) {
      target[0] = in[2];
      target[1] = in[1];
      target[2] = in[0];
    }
  }

  template <unsigned bits>
  void unpack(const std::byte* in, std::byte* target) const {
    constexpr unsigned each = 8 / bits;
    for (std::uint64_t x = 0; x < header_.width; ++x) {
      const unsigned shift = 8 - bits * (static_cast<unsigned>(x % each) + 1);
      target = put(std::to_integer<std::uint32_t>(in[x / each]) >> shift & ((1U << bits) - 1), target);
    }
  }

  template <class Pixel>
  void unmask(const std::byte* in, std::byte* target) const {
    const std::size_t channels = info_.channels.size();
    const bool plain = header_.masks[0].bits == 0xff0000 && header_.masks[1].bits == 0xff00 &&
                       header_.masks[2].bits == 0xff && channels == 3;
    if (plain && sizeof(Pixel) == 4) return reverse(in, sizeof(Pixel), target);
    for (std::uint64_t x = 0; x < header_.width; ++x, in += sizeof(Pixel), target += channels) {
      const auto pixel = static_cast<std::uint32_t>(load_little<Pixel>(in));
      for (std::size_t c = 0; c < channels; ++c) target[c] = header_.masks[c].value(pixel);
    }
  }

  std::byte* put(std::uint32_t index, std::byte* target) const {
    if (index >= header_.palette.size())
      reader_.fail("bmp: a pixel has palette index {}, but there are {}", index, header_.palette.size());
    const auto& colour = header_.palette[index];
    *target++ = colour[0];
    if (header_.gray) return target;
    *target++ = colour[1];
    *target++ = colour[2];
    return target;
  }

  BmpHeader header_;
  std::vector<std::byte> stored_;
  std::optional<RleRows> rle_;
};

}  // namespace

bool is_bmp(std::span<const std::byte> head) noexcept {
  if (head.size() < 2 || head[0] != std::byte{'B'} || head[1] != std::byte{'M'}) return false;
  // Two letters are not much: text may begin with them, and so may raw data.
  if (head.size() < 18) return std::find(head.begin(), head.end(), std::byte{0}) != head.end();
  return is_header_size(load_little<std::uint32_t>(&head[14])) || load_little<std::uint32_t>(&head[6]) == 0;
}

std::unique_ptr<Source> open_bmp(Input input) {
  BmpHeader header = read_bmp_header(input.reader);
  return std::make_unique<BmpSource>(std::move(input), std::move(header));
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// TIFF through LibTIFF: strips row by row, tiles and compressed planes one row of cells at a time.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "io/sources.h"
#include "io/tiff_layout.h"

namespace masu::io {
namespace {

constexpr std::uint64_t largest_band = std::uint64_t{1} << 30;
constexpr std::uint64_t largest_cell = std::uint64_t{1} << 30;    // as stored
constexpr std::uint64_t unchecked_band = std::uint64_t{1} << 24;  // no file is too small to stand for this much
constexpr std::uint64_t band_bytes = std::uint64_t{1} << 20;      // of uncompressed rows that are read at once
constexpr std::uint64_t any_number = 16384;  // bytes that a byte of compressed data stands for, in one band

// How rows come to memory.
enum class Way {
  direct,  // uncompressed strips: from the file, a few rows at a time
  lines,   // compressed strips: libtiff decodes one row after the other
  cells    // tiles, and strips of planes: libtiff decodes all of one row of cells
};

Way way_of(const TiffLayout& layout) noexcept {
  if (layout.tiled) return Way::cells;
  if (layout.compression == COMPRESSION_NONE) return Way::direct;
  return layout.planes == 1 ? Way::lines : Way::cells;
}

// Rows that are in memory at once.
std::uint64_t band_rows(const TiffLayout& layout) noexcept {
  switch (way_of(layout)) {
    case Way::lines: return 1;
    case Way::cells: return layout.cell_height;
    case Way::direct: break;
  }
  const std::uint64_t row = std::max<std::uint64_t>(layout.row_bytes() * layout.planes, 1);
  return std::clamp<std::uint64_t>(band_bytes / row, 1, layout.cell_height);
}

std::uint64_t band_memory(const TiffLayout& layout) noexcept {
  const auto rows = checked_product(layout.planes * layout.columns(), band_rows(layout));
  return rows ? checked_product(*rows, layout.row_bytes()).value_or(~std::uint64_t{0}) : ~std::uint64_t{0};
}

// Compares what the tags promise with the size of the file, before memory is reserved for it.
void check(const TiffLayout& layout, Reader& reader) {
  const std::uint64_t band = band_memory(layout);
  const std::uint64_t element = size_of(layout.dtype);
  const auto row = checked_product(layout.width * element, layout.channels.size());
  if (band > largest_band || !row || *row > largest_band)
    reader.fail("tiff: a row of {}s of {} x {} pixels needs more than the limit of {} MiB of memory",
                layout.cell_name(), layout.cell_width, layout.cell_height, largest_band >> 20);
  const std::uint64_t size = reader.measured_size();
  const auto too_much = [&](std::optional<std::uint64_t> bytes, std::uint64_t most) {
    if (!bytes || *bytes / most > size)
      reader.fail("truncated: tiff: {} x {} pixels do not fit in a file of {} bytes", layout.width, layout.height,
                  size);
  };
  if (std::max(band, *row) > unchecked_band) too_much(std::max(band, *row), any_number);
  if (layout.most_bytes != 0) {
    const auto pixels = checked_product(layout.width, layout.height);
    const auto bits = pixels ? checked_product(*pixels, layout.samples * layout.bits) : pixels;
    too_much(bits ? std::optional(*bits / 8) : bits, layout.most_bytes);
  }
}

// Rows of TIFF as libtiff decodes them, packed and in planes, to elements of the result.

template <class T>
void store(std::byte* target, T value) noexcept {
  std::memcpy(target, &value, sizeof(T));
}

// Samples of a number of bits that is no whole number of bytes follow each other from the highest bit on.
template <class T>
void unpack_bits(const std::byte* row, std::uint64_t count, unsigned bits, std::byte* target) noexcept {
  std::uint32_t held = 0;
  unsigned have = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    while (have < bits) {
      held = held << 8 | std::to_integer<std::uint32_t>(*row++);
      have += 8;
    }
    have -= bits;
    store(target + i * sizeof(T), static_cast<T>(held >> have & ((std::uint32_t{1} << bits) - 1)));
  }
}

void unpack_samples(const std::byte* row, std::uint64_t count, unsigned bits, std::byte* target) noexcept {
  if (bits < 8) unpack_bits<std::uint8_t>(row, count, bits, target);
  else if (bits > 8 && bits < 16) unpack_bits<std::uint16_t>(row, count, bits, target);
  else std::memcpy(target, row, count * (bits / 8));
}

// Turns the indices of a palette into colours. A second sample is copied; if it is alpha, it is scaled to the range of
// the dtype.
template <class T>
void look_up(const TiffLayout& layout, const std::byte* samples, std::uint64_t count, unsigned plane,
             std::byte* target) noexcept {
  const bool wide = layout.bits > 8;
  const unsigned largest = (1U << layout.bits) - 1;
  const unsigned scale = layout.channels.back() == "alpha" ? std::numeric_limits<T>::max() : largest;
  const std::uint64_t pixel = layout.channels.size() * sizeof(T);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint16_t sample = std::to_integer<std::uint8_t>(samples[i]);
    if (wide) std::memcpy(&sample, samples + 2 * i, 2);
    const std::uint64_t number = plane + i % layout.cell_samples();  // of the pixel's samples
    std::byte* to = target + i / layout.cell_samples() * pixel;
    for (std::uint64_t c = 0; c < 3 && number == 0; ++c)
      store(to + c * sizeof(T), static_cast<T>(layout.palette[std::uint64_t{3} * sample + c]));
    if (number == 1) store(to + 3 * sizeof(T), static_cast<T>((std::uint64_t{sample} * scale + largest / 2) / largest));
  }
}

template <std::size_t bytes>
void scatter(const std::byte* from, std::uint64_t count, std::uint64_t step, std::byte* target) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(target + i * step, from + i * bytes, bytes);
}

// `pixels` pixels of one row of a cell as elements of the result. `target` is the first pixel's first channel;
// `scratch` is memory that is used again.
void unpack_row(const TiffLayout& layout, const std::byte* row, std::uint64_t pixels, unsigned plane, std::byte* target,
                std::vector<std::byte>& scratch) {
  const std::uint64_t count = pixels * layout.cell_samples();
  if (!layout.palette.empty()) {
    scratch.resize(count * (layout.bits > 8 ? 2 : 1));
    unpack_samples(row, count, layout.bits, scratch.data());
    if (layout.dtype == Dtype::u8) look_up<std::uint8_t>(layout, scratch.data(), count, plane, target);
    else look_up<std::uint16_t>(layout, scratch.data(), count, plane, target);
    return;
  }
  if (layout.planes == 1) {
    unpack_samples(row, count, layout.bits, target);
    return;
  }
  const std::size_t element = size_of(layout.dtype);
  scratch.resize(count * element);
  unpack_samples(row, count, layout.bits, scratch.data());
  target += plane * element;
  const std::uint64_t step = layout.samples * element;
  switch (element) {
    case 1: scatter<1>(scratch.data(), count, step, target); break;
    case 2: scatter<2>(scratch.data(), count, step, target); break;
    case 4: scatter<4>(scratch.data(), count, step, target); break;
    default: scatter<8>(scratch.data(), count, step, target); break;
  }
}

class TiffSource final : public RowSource {
 public:
  TiffSource(Input input, TiffLayout layout, std::uint64_t images, const LibTiff& library)
      : RowSource(std::move(input), "tiff", layout.dtype, layout.height, layout.width, layout.channels),
        library_(library),
        layout_(std::move(layout)),
        way_(way_of(layout_)),
        rows_(band_rows(layout_)) {
    if (images > 1) note(fmt::format("read image 1 of {}", images));
    for (std::string& text : layout_.notes) note(std::move(text));
    if (layout_.palette.empty() && layout_.bits < 16) note_largest((std::uint64_t{1} << layout_.bits) - 1);
    note_orientation(layout_.orientation);
    keep_all();
  }

 private:
  void start() override {
    first_ = end_ = 0;
    file_.reset();
    file_.emplace(reader_, library_);
    const TiffLayout now = tiff_layout(*file_, reader_);
    if (now.width != layout_.width || now.height != layout_.height || now.row_bytes() != layout_.row_bytes() ||
        now.cell_height != layout_.cell_height || now.compression != layout_.compression ||
        now.planes != layout_.planes || now.tiled != layout_.tiled || now.bits != layout_.bits)
      reader_.fail("tiff: the file changed while it was read");
    band_.resize(band_memory(layout_));
  }

  void next_row(std::uint64_t row, std::byte* target) override {
    if (row >= end_) fill(row);
    const std::uint64_t pixel = layout_.channels.size() * size_of(layout_.dtype);
    for (unsigned plane = 0; plane < layout_.planes; ++plane)
      for (std::uint64_t column = 0; column < layout_.columns(); ++column) {
        const std::uint64_t x = column * layout_.cell_width;
        unpack_row(layout_, slot(plane, column) + (row - first_) * layout_.row_bytes(),
                   std::min(layout_.cell_width, layout_.width - x), plane, target + x * pixel, scratch_);
      }
  }

  void finish() override {
    file_.reset();
    band_ = {};
    scratch_ = {};
  }

  // Where the rows of one cell lie while they are in memory.
  std::byte* slot(unsigned plane, std::uint64_t column) noexcept {
    return band_.data() + (plane * layout_.columns() + column) * rows_ * layout_.row_bytes();
  }

  void fill(std::uint64_t row) {
    if (!file_) reader_.fail("tiff: cannot be read on after an error");
    const std::uint64_t band = row / layout_.cell_height;
    const std::uint64_t cell_end = std::min((band + 1) * layout_.cell_height, layout_.height);
    first_ = way_ == Way::cells ? band * layout_.cell_height : row;
    end_ = std::min(first_ + rows_, cell_end);
    try {
      for (unsigned plane = 0; plane < layout_.planes; ++plane)
        for (std::uint64_t column = 0; column < layout_.columns(); ++column)
          fill_cell(layout_.cell(plane, band, column), row - band * layout_.cell_height, slot(plane, column));
    } catch (...) {
      file_.reset();
      end_ = first_;
      throw;
    }
  }

  // Rows first_ … end_ of a cell; `inside` is the first one counted from the cell's.
  void fill_cell(std::uint64_t cell, std::uint64_t inside, std::byte* target) {
    const auto number = static_cast<std::uint32_t>(cell);
    const std::string what = fmt::format("{} {}", layout_.cell_name(), cell);
    if (inside == 0 || way_ == Way::direct) check_cell(number, what, inside + end_ - first_);
    const auto bytes = static_cast<tmsize_t>((end_ - first_) * layout_.row_bytes());
    switch (way_) {
      case Way::direct: read_direct(number, what, inside, target); return;
      case Way::lines:
        file_->decode(what, library_.TIFFReadScanline, target, static_cast<std::uint32_t>(first_), std::uint16_t{0});
        return;
      case Way::cells: break;
    }
    const tmsize_t room = static_cast<tmsize_t>(rows_ * layout_.row_bytes());
    const tmsize_t got = layout_.tiled ? file_->decode(what, library_.TIFFReadEncodedTile, number, target, room)
                                       : file_->decode(what, library_.TIFFReadEncodedStrip, number, target, bytes);
    if (got < bytes) reader_.fail("tiff: {} holds {} bytes, its rows need {}", what, got, bytes);
  }

  void check_cell(std::uint32_t number, std::string_view what, std::uint64_t rows) {
    const std::uint64_t start = file_->decode(what, library_.TIFFGetStrileOffset, number);
    const std::uint64_t bytes = file_->decode(what, library_.TIFFGetStrileByteCount, number);
    if (bytes > largest_cell && way_ != Way::direct)
      reader_.fail("tiff: {} is stored in {} MiB, the limit is {} MiB", what, bytes >> 20, largest_cell >> 20);
    if (way_ == Way::direct && bytes < rows * layout_.row_bytes())
      reader_.fail("tiff: {} holds {} bytes, its rows need {}", what, bytes, rows * layout_.row_bytes());
    if (start > file_->size() || bytes > file_->size() - start)
      reader_.fail("truncated: {} needs {} bytes from byte {}, but the file ends at byte {}", what, bytes, start,
                   file_->size());
  }

  void read_direct(std::uint32_t number, std::string_view what, std::uint64_t inside, std::byte* target) {
    const std::uint64_t bytes = (end_ - first_) * layout_.row_bytes();
    reader_.seek(library_.TIFFGetStrileOffset(file_->handle(), number) + inside * layout_.row_bytes());
    reader_.read_exact(target, bytes, what);
    if (layout_.reversed_bits) std::transform(target, target + bytes, target, reversed);
    if (library_.TIFFIsByteSwapped(file_->handle()) != 0 && layout_.bits % 16 == 0)
      swap_bytes(target, bytes / (layout_.bits / 8), layout_.bits / 8);
  }

  static std::byte reversed(std::byte value) noexcept {
    const auto swap = [&](unsigned mask, unsigned by) {
      value = (value & static_cast<std::byte>(mask)) >> by | (value << by & static_cast<std::byte>(mask));
    };
    swap(0xf0, 4);
    swap(0xcc, 2);
    swap(0xaa, 1);
    return value;
  }

  const LibTiff& library_;
  TiffLayout layout_;
  Way way_;
  std::uint64_t rows_;       // of a band
  std::uint64_t first_ = 0;  // row in band_
  std::uint64_t end_ = 0;
  std::optional<TiffFile> file_;
  std::vector<std::byte> band_;
  std::vector<std::byte> scratch_;
};

}  // namespace

bool is_tiff(std::span<const std::byte> head) noexcept {
  return begins(head, {"II*\0", 4}) || begins(head, {"MM\0*", 4}) || begins(head, {"II+\0", 4}) ||
         begins(head, {"MM\0+", 4});
}

std::unique_ptr<Source> open_tiff(Input input) {
  if (!is_tiff(input.reader.peek(4))) input.reader.fail("tiff: does not begin as TIFF");
  const LibTiff& library = opened<LibTiff>();
  library.library.require(input.reader.name());
  TiffLayout layout;
  std::uint64_t images = 1;
  {
    TiffFile file(input.reader, library);
    layout = tiff_layout(file, input.reader);
    images = std::max<std::uint64_t>(1, file.images());
  }
  check(layout, input.reader);
  return std::make_unique<TiffSource>(std::move(input), std::move(layout), images, library);
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// PNG through libpng, row by row. Samples keep their values; palettes and transparent colours are expanded, those that
// libpng would rescale, or read beyond their end, by masu.
#include "io/picture.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <png.h>
#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <exception>
#include <utility>

namespace masu::io {
namespace {

struct LibPng {
  SharedLibrary library = library_of("PNG");
  // The functions masu calls, each found by name.
  // clang-format off
#define MASU_PNG_FUNCTIONS(X)                                                                                   \
  X(png_create_read_struct) X(png_create_info_struct) X(png_destroy_read_struct) X(png_error)                   \
  X(png_get_bit_depth) X(png_get_channels) X(png_get_color_type) X(png_get_image_height) X(png_get_image_width) \
  X(png_get_PLTE) X(png_get_interlace_type) X(png_get_io_ptr) X(png_get_rowbytes) X(png_get_error_ptr)          \
  X(png_get_tRNS) X(png_get_valid) X(png_longjmp) X(png_read_end) X(png_read_info) X(png_read_row)              \
  X(png_read_update_info) X(png_set_interlace_handling) X(png_set_keep_unknown_chunks) X(png_set_longjmp_fn)    \
  X(png_image_write_to_memory) X(png_set_packing) X(png_set_read_fn) X(png_set_swap) X(png_set_tRNS_to_alpha) X(png_set_user_limits)
  // clang-format on
  MASU_PNG_FUNCTIONS(MASU_FOUND_FUNCTION)
};

constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
constexpr std::uint64_t largest_png_frame = std::uint64_t{1} << 30;  // of an interlaced image, in bytes

struct PngHeader {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  unsigned depth = 0;
  unsigned colour = 0;  // PNG's colour type
  bool interlaced = false;

  // Bytes of the stored pixels before compression.
  [[nodiscard]] std::uint64_t stored_row() const noexcept {
    constexpr std::array<unsigned, 7> samples = {1, 0, 3, 1, 2, 0, 4};
    return (width * samples[colour] * depth + 7) / 8 + 1;
  }
};

// libpng reports an error by longjmp. Every call into it is made from a function without C++ objects inside
// `guarded`, so nothing is jumped over; a C++ exception of the reader waits in `thrown`.
class PngDecoder {
 public:
  PngDecoder(Reader& reader, const LibPng& library) : reader_(reader), png_(library) {}
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { close(); }

  // Reads up to the first pixel and says how libpng is to give them.
  void open(bool any_size) {
    close();
    failure_[0] = '\0';
    read_ = png_.png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (read_ == nullptr) reader_.fail("png: libpng cannot be started");
    any_size_ = any_size;
    guarded(read_png_header);
  }
  // Rows after all passes of an interlaced image, `rows` pointers; else the next row.
  void read_row(std::byte* target) {
    row_ = target;
    guarded([](PngDecoder* self) {
      self->png_.png_read_row(self->read_, reinterpret_cast<png_bytep>(self->row_), nullptr);
    });
  }
  void read_frame(std::byte* frame, std::uint64_t rows, std::uint64_t row_bytes) {
    row_ = frame;
    rows_ = rows;
    row_bytes_ = row_bytes;
    guarded(read_all_rows);
  }
  void end() {
    guarded([](PngDecoder* self) { self->png_.png_read_end(self->read_, nullptr); });
  }

  [[nodiscard]] unsigned channels() const { return png_.png_get_channels(read_, info_); }
  [[nodiscard]] unsigned depth() const { return png_.png_get_bit_depth(read_, info_); }
  [[nodiscard]] std::uint64_t row_bytes() const { return png_.png_get_rowbytes(read_, info_); }
  // The transparent value of a gray image below 8 bits, which libpng would rescale; else -1.
  [[nodiscard]] int transparent() const noexcept { return transparent_; }
  // Red, green, blue and alpha of each index, where the rows are indices.
  [[nodiscard]] std::span<const std::array<std::byte, 4>> palette() const noexcept {
    return std::span(palette_).first(entries_);
  }
  [[nodiscard]] bool palette_has_alpha() const noexcept { return palette_has_alpha_; }

 private:
  void guarded(void (*body)(PngDecoder*)) {
    if (read_ == nullptr) reader_.fail("png: cannot be read on after an error");
    if (!enter(this, body)) {
      close();
      if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
      reader_.fail("png: {} (at byte {})", printable(failure_.data()), reader_.position());
    }
  }
  static bool enter(PngDecoder* self, void (*body)(PngDecoder*)) {
    if (setjmp(*self->png_.png_set_longjmp_fn(self->read_, longjmp, sizeof(jmp_buf))) != 0) return false;
    body(self);
    return true;
  }

  static void read_png_header(PngDecoder* self) {
    const LibPng& png = self->png_;
    png_structp read = self->read_;
    self->info_ = png.png_create_info_struct(read);
    if (self->info_ == nullptr) png.png_error(read, "out of memory");
    png.png_set_read_fn(read, self, on_read);
    if (self->any_size_) png.png_set_user_limits(read, 0x7fffffff, 0x7fffffff);
    // Chunks that are not needed may decompress to very many bytes.
    static constexpr png_byte unwanted[] = "iCCP\0iTXt\0tEXt\0zTXt\0eXIf\0sPLT";
    png.png_set_keep_unknown_chunks(read, PNG_HANDLE_CHUNK_NEVER, unwanted, 6);
    png.png_read_info(read, self->info_);
    const int depth = png.png_get_bit_depth(read, self->info_);
    const int colour = png.png_get_color_type(read, self->info_);
    const bool has_transparency = png.png_get_valid(read, self->info_, PNG_INFO_tRNS) != 0;
    self->transparent_ = -1;
    self->entries_ = 0;
    if (colour == PNG_COLOR_TYPE_PALETTE) {
      self->read_palette(has_transparency);
      png.png_set_packing(read);
    } else if (has_transparency && depth < 8) {
      png_color_16p value = nullptr;
      png.png_get_tRNS(read, self->info_, nullptr, nullptr, &value);
      if (value != nullptr) self->transparent_ = value->gray & ((1 << depth) - 1);
      png.png_set_packing(read);
    } else if (has_transparency) {
      png.png_set_tRNS_to_alpha(read);
    }
    if (depth < 8 && colour == PNG_COLOR_TYPE_GRAY) png.png_set_packing(read);
    if (depth == 16 && std::endian::native == std::endian::little) png.png_set_swap(read);
    self->passes_ = png.png_set_interlace_handling(read);
    png.png_read_update_info(read, self->info_);
  }
  void read_palette(bool has_transparency) {
    png_colorp colours = nullptr;
    int entries = 0;
    if (png_.png_get_PLTE(read_, info_, &colours, &entries) == 0) return;
    png_bytep alphas = nullptr;
    int alpha_entries = 0;
    if (has_transparency) png_.png_get_tRNS(read_, info_, &alphas, &alpha_entries, nullptr);
    palette_has_alpha_ = has_transparency;
    entries_ = static_cast<std::size_t>(std::clamp(entries, 0, static_cast<int>(palette_.size())));
    for (std::size_t i = 0; i < entries_; ++i) {
      const bool given = alphas != nullptr && i < static_cast<std::size_t>(std::max(alpha_entries, 0));
      palette_[i] = {std::byte{colours[i].red}, std::byte{colours[i].green}, std::byte{colours[i].blue},
                     given ? std::byte{alphas[i]} : std::byte{255}};
    }
  }
  static void read_all_rows(PngDecoder* self) {
    for (int pass = 0; pass < self->passes_; ++pass)
      for (std::uint64_t row = 0; row < self->rows_; ++row)
        self->png_.png_read_row(self->read_, reinterpret_cast<png_bytep>(self->row_ + row * self->row_bytes_), nullptr);
  }

  static void on_read(png_structp png, png_bytep target, png_size_t bytes) {
    const LibPng& library = opened<LibPng>();
    auto* self = static_cast<PngDecoder*>(library.png_get_io_ptr(png));
    if (!self->fetch(target, bytes)) library.png_error(png, "reading failed");
  }
  bool fetch(png_bytep target, png_size_t bytes) noexcept {
    try {
      reader_.read_exact(target, bytes, "the image");
      return true;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }
  static void on_error(png_structp png, png_const_charp message) {
    const LibPng& library = opened<LibPng>();
    auto* self = static_cast<PngDecoder*>(library.png_get_error_ptr(png));
    std::strncpy(self->failure_.data(), message, self->failure_.size() - 1);
    library.png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  void close() noexcept {
    if (read_ != nullptr) png_.png_destroy_read_struct(&read_, &info_, nullptr);
    read_ = nullptr;
    info_ = nullptr;
  }

  Reader& reader_;
  const LibPng& png_;
  png_structp read_ = nullptr;
  png_infop info_ = nullptr;
  std::exception_ptr thrown_;
  std::array<char, 128> failure_{};
  bool any_size_ = false;
  int passes_ = 1;
  int transparent_ = -1;
  std::array<std::array<std::byte, 4>, 256> palette_{};
  std::size_t entries_ = 0;
  bool palette_has_alpha_ = false;
  std::byte* row_ = nullptr;
  std::uint64_t rows_ = 0;
  std::uint64_t row_bytes_ = 0;
};

PngHeader read_png_header(Reader& reader) {
  const auto head = reader.peek(33);
  if (!is_png(head)) reader.fail("png: does not begin with the signature of PNG");
  if (head.size() < 33) reader.fail("truncated: the file ends at byte {} inside the header", head.size());
  if (load_big<std::uint32_t>(&head[8]) != 13 || std::memcmp(&head[12], "IHDR", 4) != 0)
    reader.fail("png: the first chunk is not IHDR");
  PngHeader header;
  header.width = load_big<std::uint32_t>(&head[16]);
  header.height = load_big<std::uint32_t>(&head[20]);
  header.depth = std::to_integer<unsigned>(head[24]);
  header.colour = std::to_integer<unsigned>(head[25]);
  header.interlaced = head[28] != std::byte{0};
  const unsigned depth = header.depth;
  const unsigned colour = header.colour;
  constexpr std::uint64_t most = 0x7fffffff;
  if (header.width == 0 || header.height == 0 || header.width > most || header.height > most)
    reader.fail("png: {} x {} pixels", header.width, header.height);
  const bool small = depth == 1 || depth == 2 || depth == 4;
  const bool known = (colour == 0 && (small || depth == 8 || depth == 16)) || (colour == 3 && (small || depth == 8)) ||
                     ((colour == 2 || colour == 4 || colour == 6) && (depth == 8 || depth == 16));
  if (!known) reader.fail("png: colour type {} with {} bits is not known", colour, depth);

  // Deflate packs at most 1032 to 1.
  const auto stored = checked_product(header.stored_row(), header.height);
  if (!stored) reader.fail("png: {} x {} pixels are absurd", header.width, header.height);
  if (header.interlaced || reader.size()) {
    const std::uint64_t size = reader.measured_size();
    if (*stored / 1040 > size)
      reader.fail("truncated: png: {} x {} pixels do not fit in a file of {} bytes", header.width, header.height, size);
  }
  return header;
}

// What stands in the header chunks decides the channels, so libpng reads them once before the source is made.
struct PngLayout {
  unsigned channels = 0;
  int transparent = -1;
  bool indexed = false;
};

PngLayout probe(Reader& reader, const LibPng& library) {
  PngDecoder decoder(reader, library);
  decoder.open(reader.size().has_value());
  PngLayout layout{decoder.channels(), decoder.transparent(), !decoder.palette().empty()};
  if (layout.transparent >= 0) layout.channels = 2;
  if (layout.indexed) layout.channels = decoder.palette_has_alpha() ? 4 : 3;
  return layout;
}

// Reads the chunks before the pixels; the number of images is that of the frames of an animation (APNG).
ImageExtras read_png_extras(Reader& reader) {
  constexpr std::uint32_t largest_skipped = std::uint32_t{1} << 24;  // for a pipe, whose bytes are kept for seek()
  ImageExtras extras;
  for (std::uint64_t at = signature.size();;) {
    reader.seek(at);
    const auto head = reader.peek(8);
    if (head.size() < 8) return extras;
    const auto bytes = load_big<std::uint32_t>(head.data());
    const auto is = [&](const char* type) { return std::memcmp(&head[4], type, 4) == 0; };
    if (is("IDAT") || is("IEND") || (!reader.size() && bytes > largest_skipped)) return extras;
    if (is("acTL") || is("eXIf")) {
      const bool animation = is("acTL");
      const auto body = reader.peek(std::min<std::size_t>(bytes, Reader::peek_limit - 8) + 8).subspan(8);
      const auto data = body.first(std::min<std::size_t>(bytes, body.size()));
      if (!animation) extras.orientation = exif_orientation(data);
      else if (data.size() >= 4) extras.images = load_big<std::uint32_t>(data.data());
    }
    at += std::uint64_t{bytes} + 12;
  }
}

class PngSource final : public RowSource {
 public:
  PngSource(Input input, const PngHeader& header, PngLayout layout, const ImageExtras& extras, const LibPng& library)
      : RowSource(std::move(input), "png", header.depth == 16 ? Dtype::u16 : Dtype::u8, header.height, header.width,
                  channel_names(layout.channels)),
        header_(header),
        layout_(layout),
        decoder_(reader_, library) {
    if (header.depth < 8 && !layout.indexed) note_largest((1U << header.depth) - 1);
    if (extras.images > 1) note(fmt::format("read the first image of an animation of {} frames", extras.images));
    note_orientation(extras.orientation);
    const auto frame = checked_product(row_elements() * size_of(info_.dtype), header_.height);
    if (header_.interlaced && (!frame || *frame > largest_png_frame))
      reader_.fail("png: an interlaced image is held in memory as a whole; {} x {} pixels need more than {} MiB",
                   header_.width, header_.height, largest_png_frame >> 20);
  }

 private:
  void start() override {
    reader_.seek(0);
    decoder_.open(reader_.size().has_value());
    const bool bytewise = layout_.indexed || layout_.transparent >= 0;
    const std::uint64_t bytes = bytewise ? header_.width : row_elements() * size_of(info_.dtype);
    if (decoder_.row_bytes() != bytes || layout_.indexed == decoder_.palette().empty())
      reader_.fail("png: the file changed while it was read");
    if (!header_.interlaced) return;
    frame_.resize(bytes * header_.height);
    decoder_.read_frame(frame_.data(), header_.height, bytes);
  }

  void next_row(std::uint64_t row, std::byte* target) override {
    const std::uint64_t bytes = row_elements() * size_of(info_.dtype);
    if (layout_.indexed || layout_.transparent >= 0) {
      // One byte a pixel, at the end of the row's memory: each is read before its channels are written over it.
      const std::uint64_t width = header_.width;
      std::byte* stored = target + bytes - width;
      if (header_.interlaced) std::memcpy(stored, frame_.data() + row * width, width);
      else decoder_.read_row(stored);
      if (layout_.indexed) return look_up(stored, target);
      // libpng would stretch the gray values, so the transparent one is looked up here.
      const auto opaque = static_cast<std::byte>((1U << header_.depth) - 1);
      for (std::uint64_t x = 0; x < width; ++x) {
        const std::byte value = stored[x];
        target[2 * x] = value;
        target[2 * x + 1] = std::to_integer<int>(value) == layout_.transparent ? std::byte{0} : opaque;
      }
    } else if (header_.interlaced) {
      std::memcpy(target, frame_.data() + row * bytes, bytes);
    } else {
      decoder_.read_row(target);
    }
  }

  void finish() override {
    frame_ = {};
    decoder_.end();
  }

  void look_up(const std::byte* indices, std::byte* target) const {
    const auto palette = decoder_.palette();
    for (std::uint64_t x = 0; x < header_.width; ++x, target += layout_.channels) {
      const auto index = std::to_integer<std::size_t>(indices[x]);
      if (index >= palette.size())
        reader_.fail("png: a pixel has palette index {}, but there are {}", index, palette.size());
      std::copy_n(palette[index].begin(), layout_.channels, target);
    }
  }

  PngHeader header_;
  PngLayout layout_;
  PngDecoder decoder_;
  std::vector<std::byte> frame_;
};

}  // namespace

bool is_png(std::span<const std::byte> head) noexcept {
  return begins(head, signature);
}

std::unique_ptr<Source> open_png(Input input) {
  const PngHeader header = read_png_header(input.reader);
  const LibPng& library = opened<LibPng>();
  library.library.require(input.reader.name());
  const ImageExtras extras = read_png_extras(input.reader);
  input.reader.seek(0);
  const PngLayout layout = probe(input.reader, library);
  return std::make_unique<PngSource>(std::move(input), header, layout, extras, library);
}

std::string png_of(const Picture& picture) {
  const LibPng png;
  png.library.require("writing a PNG");
  constexpr std::uint64_t widest = 1'000'000;                // that libpng takes
  constexpr std::uint64_t largest = std::uint64_t{1} << 31;  // for its sums of 32 bits
  const auto fail = [&](std::string_view why) {
    fail_io("PNG", "a picture of {} x {} x {} cannot be written: {}", picture.width, picture.height, picture.channels,
            why);
  };
  if (picture.width > widest || picture.height > widest || picture.samples.size() > largest)
    fail("at most 1,000,000 pixels each way and 2^31 samples can; .ppm has no limit");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png.png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.samples.data(), 0, nullptr) == 0)
    fail(image.message);
  bytes.resize(size);
  return bytes;
}

std::string pnm_of(const Picture& picture) {
  std::string bytes =
      fmt::format("{}\n{} {}\n255\n", picture.channels == 1 ? "P5" : "P6", picture.width, picture.height);
  return bytes.append(picture.samples.begin(), picture.samples.end());
}

}  // namespace masu::io

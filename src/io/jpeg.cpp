// SPDX-License-Identifier: Apache-2.0
// JPEG through libjpeg, row by row. An image that comes in several scans (progressive) is held in memory.
#include "io/reader.h"
#include "io/sources.h"

#include <cstdio>  // jpeglib.h needs its names
//
#include <jerror.h>
#include <jpeglib.h>
//
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace masu::io {
namespace {

// libjpeg-turbo, through the interface of libjpeg.
struct LibJpeg {
  SharedLibrary library = library_of("JPEG");
  // clang-format off
#define MASU_JPEG_FUNCTIONS(X)                                                              \
  X(jpeg_std_error) X(jpeg_CreateDecompress) X(jpeg_destroy_decompress) X(jpeg_read_header) \
  X(jpeg_has_multiple_scans) X(jpeg_start_decompress) X(jpeg_read_scanlines)                \
  X(jpeg_finish_decompress) X(jpeg_resync_to_restart)
  // clang-format on
  MASU_JPEG_FUNCTIONS(MASU_FOUND_FUNCTION)
};

// libjpeg over a Reader.

struct JpegHeader {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::vector<std::string> channels;
  std::uint64_t blocks = 0;       // of 8 x 8 coefficients
  std::uint64_t frame_bytes = 0;  // of the coefficients, where they are held until the last scan is read; else 0
  bool arithmetic = false;        // arithmetic coding, which has no least number of bits for a block
  bool unmarked_cmyk = false;     // CMYK without Adobe's marker
};

// A file that says nothing new in ever more scans would keep the decoder busy for hours.
constexpr int most_scans = 500;

std::vector<std::string> names_in(J_COLOR_SPACE space, int components) {
  switch (space) {
    case JCS_GRAYSCALE: return channel_names(1);
    case JCS_RGB: return channel_names(3);
    case JCS_CMYK: return {"cyan", "magenta", "yellow", "black"};
    default: break;
  }
  std::vector<std::string> names;
  for (int i = 0; i < components; ++i) names.push_back(std::to_string(i));
  return names;
}

// Warnings that leave the samples as they are. Bytes before a marker belong to no segment and no scan, unless the
// marker is one inside a scan (RST).
bool harmless(const jpeg_error_mgr& errors) noexcept {
  const bool inside_scan = errors.msg_parm.i[1] >= JPEG_RST0 && errors.msg_parm.i[1] <= JPEG_RST0 + 7;
  return errors.msg_code == JWRN_JFIF_MAJOR || errors.msg_code == JWRN_ADOBE_XFORM ||
         (errors.msg_code == JWRN_EXTRANEOUS_DATA && !inside_scan);
}

// libjpeg reports an error by calling a function that must not return. Every call into it is made from a function
// without C++ objects inside `guarded`, so that longjmp jumps over nothing; a C++ exception of the reader waits in
// `thrown_`. A warning is an error unless the pixels are whole in spite of it.
class JpegDecoder {
 public:
  JpegDecoder(Reader& reader, const LibJpeg& library) : reader_(reader), jpeg_(library) {}
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { close(); }

  // Reads up to the first scan, from the reader's position on.
  JpegHeader open() {
    close();
    info_.err = jpeg_.jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    errors_.output_message = [](j_common_ptr) {};
    info_.client_data = this;
    open_ = true;
    // The macro jpeg_create_decompress would call the function by its linked name.
    guarded([](JpegDecoder* self) {
      self->jpeg_.jpeg_CreateDecompress(&self->info_, JPEG_LIB_VERSION, sizeof(jpeg_decompress_struct));
    });
    source_ = {};
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = on_fill;
    source_.skip_input_data = on_skip;
    source_.resync_to_restart = jpeg_.jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    info_.src = &source_;
    progress_.progress_monitor = on_progress;
    info_.progress = &progress_;
    guarded(read_header);

    JpegHeader header;
    header.width = info_.image_width;
    header.height = info_.image_height;
    header.channels = names_in(info_.out_color_space, info_.num_components);
    header.arithmetic = info_.arith_code != 0;
    header.unmarked_cmyk = info_.out_color_space == JCS_CMYK && !info_.saw_Adobe_marker;
    std::uint64_t held = 0;
    for (int i = 0; i < info_.num_components; ++i) {
      const jpeg_component_info& component = info_.comp_info[i];
      const auto round_up = [](std::uint64_t value, int step) {
        return (value + static_cast<std::uint64_t>(step) - 1) / static_cast<std::uint64_t>(step) *
               static_cast<std::uint64_t>(step);
      };
      header.blocks += std::uint64_t{component.width_in_blocks} * component.height_in_blocks;
      held += round_up(component.width_in_blocks, component.h_samp_factor) *
              round_up(component.height_in_blocks, component.v_samp_factor);
    }
    if (several_scans_) header.frame_bytes = held * sizeof(JBLOCK);
    return header;
  }
  // Prepares for the first row; reads the whole file where the rows are spread over several scans.
  void start() {
    guarded([](JpegDecoder* self) { self->jpeg_.jpeg_start_decompress(&self->info_); });
  }
  void read_row(std::byte* target) {
    row_ = reinterpret_cast<JSAMPROW>(target);
    guarded([](JpegDecoder* self) { self->jpeg_.jpeg_read_scanlines(&self->info_, &self->row_, 1); });
    // Adobe's files hold CMYK inverted: 255 is no ink.
    if (info_.out_color_space == JCS_CMYK && info_.saw_Adobe_marker)
      std::transform(row_, row_ + std::size_t{4} * info_.output_width, row_,
                     [](JSAMPLE value) { return static_cast<JSAMPLE>(255 - value); });
  }
  // Reads up to the end of the image; says whether another one follows.
  bool end() {
    guarded([](JpegDecoder* self) { self->jpeg_.jpeg_finish_decompress(&self->info_); });
    std::array<std::byte, 3> next{};
    const std::size_t have = std::min(source_.bytes_in_buffer, next.size());
    std::copy_n(reinterpret_cast<const std::byte*>(source_.next_input_byte), have, next.begin());
    const auto more = reader_.peek(next.size() - have);
    std::copy_n(more.begin(), std::min(more.size(), next.size() - have), next.begin() + have);
    return is_jpeg(next);
  }

 private:
  void close() noexcept {
    if (open_) jpeg_.jpeg_destroy_decompress(&info_);
    open_ = false;
  }
  void guarded(void (*body)(JpegDecoder*)) {
    if (!open_) reader_.fail("jpeg: cannot be read on after an error");
    if (enter(this, body)) return;
    close();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    std::string reason = failure_.data();
    for (char& c : reason)
      if (c < ' ' || c > '~') c = '?';
    reader_.fail("jpeg: {} (at byte {})", reason, reader_.position() - source_.bytes_in_buffer);
  }
  static bool enter(JpegDecoder* self, void (*body)(JpegDecoder*)) {
    if (setjmp(self->jump_) != 0) return false;
    body(self);
    return true;
  }
  static void read_header(JpegDecoder* self) {
    jpeg_decompress_struct& info = self->info_;
    self->jpeg_.jpeg_read_header(&info, TRUE);
    if (info.jpeg_color_space == JCS_YCbCr) info.out_color_space = JCS_RGB;
    info.dct_method = JDCT_ISLOW;
    self->several_scans_ = self->jpeg_.jpeg_has_multiple_scans(&info) != 0;
  }
  static JpegDecoder& of(j_common_ptr info) noexcept { return *static_cast<JpegDecoder*>(info->client_data); }
  static boolean on_fill(j_decompress_ptr info) {
    JpegDecoder& self = of(reinterpret_cast<j_common_ptr>(info));
    if (!self.fill()) std::longjmp(self.jump_, 1);
    return TRUE;
  }
  static void on_skip(j_decompress_ptr info, long bytes) {
    jpeg_source_mgr& source = *info->src;
    while (bytes > 0) {
      if (source.bytes_in_buffer == 0) on_fill(info);
      const std::size_t step = std::min(source.bytes_in_buffer, static_cast<std::size_t>(bytes));
      source.next_input_byte += step;
      source.bytes_in_buffer -= step;
      bytes -= static_cast<long>(step);
    }
  }
  static void on_error(j_common_ptr info) {
    JpegDecoder& self = of(info);
    self.errors_.format_message(info, self.failure_.data());
    std::longjmp(self.jump_, 1);
  }
  static void on_message(j_common_ptr info, int level) {
    if (level < 0 && !harmless(of(info).errors_)) on_error(info);
  }
  static void on_progress(j_common_ptr info) {
    JpegDecoder& self = of(info);
    if (self.info_.input_scan_number <= most_scans) return;
    std::strcpy(self.failure_.data(), "more scans than any image needs");
    std::longjmp(self.jump_, 1);
  }
  bool fill() noexcept {
    try {
      const std::size_t got = reader_.read(buffer_.data(), buffer_.size());
      source_.next_input_byte = buffer_.data();
      source_.bytes_in_buffer = got;
      if (got == 0) reader_.fail("truncated: the file ends at byte {} inside the image", reader_.position());
      return true;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  Reader& reader_;
  const LibJpeg& jpeg_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  bool open_ = false;
  bool several_scans_ = false;
  std::exception_ptr thrown_;
  std::array<char, JMSG_LENGTH_MAX> failure_{};
  JSAMPROW row_ = nullptr;
  std::array<JOCTET, std::size_t{1} << 16> buffer_;
};

constexpr std::uint64_t largest_frame = std::uint64_t{1} << 30;
// A pipe is measured for what is larger.
constexpr std::uint64_t believed_frame = std::uint64_t{1} << 24;
constexpr std::uint64_t believed_blocks = std::uint64_t{1} << 20;
// Limits for a file with arithmetic coding: codes have no least size, and its end cannot be distinguished from zeros.
constexpr std::uint64_t arithmetic_blocks = std::uint64_t{1} << 18;
constexpr std::uint64_t arithmetic_blocks_a_byte = 64;

// Reads the segments before the image data; the number of images is that of MPF.
ImageExtras read_jpeg_extras(Reader& reader) {
  constexpr unsigned exif = 0xe1;
  constexpr unsigned mpf = 0xe2;
  ImageExtras extras;
  reader.seek(2);
  for (;;) {
    constexpr std::uint64_t most = std::uint64_t{1} << 26;  // bytes of a pipe that are kept for it
    const auto head = reader.peek(4);
    if (head.size() < 4 || reader.position() > most) return extras;
    const auto marker = std::to_integer<unsigned>(head[1]);
    if (head[0] != std::byte{0xff} || marker == 0xff || marker == 0) {  // no marker begins here
      reader.consume(1);
      continue;
    }
    constexpr unsigned end_of_image = 0xd9;
    constexpr unsigned start_of_scan = 0xda;
    const std::size_t bytes = load_big<std::uint16_t>(&head[2]);
    if (marker == end_of_image || marker == start_of_scan || bytes < 2) return extras;
    reader.consume(2);
    const auto whole = reader.peek(bytes);
    if (whole.size() < bytes) return extras;
    const auto data = whole.subspan(2, bytes - 2);
    constexpr std::uint16_t number_of_images = 0xb001;
    if (marker == exif && begins(data, {"Exif\0\0", 6})) extras.orientation = exif_orientation(data);
    if (marker == mpf && begins(data, {"MPF\0", 4}))
      extras.images = directory_number(data.subspan(4), number_of_images);
    reader.consume(bytes);
  }
}

class JpegSource final : public RowSource {
 public:
  JpegSource(Input input, JpegHeader header, const ImageExtras& extras, const LibJpeg& library)
      : RowSource(std::move(input), "jpeg", Dtype::u8, header.height, header.width, std::move(header.channels)),
        several_(extras.images > 1),
        decoder_(reader_, library) {
    if (header.unmarked_cmyk)
      note("CMYK without Adobe's marker is read as stored; many readers take 255 for no ink here too");
    if (several_) note(fmt::format("read image 1 of {}", extras.images));
    note_orientation(extras.orientation);
  }

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
  void finish() override {
    if (!decoder_.end() || std::exchange(several_, true)) return;
    note("read the first image only, another one follows");
  }

  bool several_;  // it is noted that there are several images
  JpegDecoder decoder_;
};

// Compares what the header promises with the size of the file, before memory is reserved for it.
void check(Reader& reader, const JpegHeader& header) {
  if (header.frame_bytes > largest_frame)
    reader.fail(
        "jpeg: an image in several scans (progressive) is held in memory as a whole; {} x {} pixels need "
        "{} MiB, the limit is {} MiB",
        header.width, header.height, header.frame_bytes >> 20, largest_frame >> 20);
  const std::uint64_t believed = header.arithmetic ? arithmetic_blocks : believed_blocks;
  if (!reader.size() && header.frame_bytes <= believed_frame && header.blocks <= believed) return;
  const std::uint64_t size = reader.measured_size();
  // Huffman's codes take a bit for each block at least.
  const std::uint64_t most =
      header.arithmetic ? std::max(arithmetic_blocks, arithmetic_blocks_a_byte * size) : 8 * size;
  if (header.blocks > most)
    reader.fail("truncated: jpeg: {} x {} pixels do not fit in a file of {} bytes", header.width, header.height, size);
}

}  // namespace

bool is_jpeg(std::span<const std::byte> head) noexcept {
  return head.size() >= 3 && head[0] == std::byte{0xff} && head[1] == std::byte{0xd8} && head[2] == std::byte{0xff};
}

std::unique_ptr<Source> open_jpeg(Input input) {
  if (!is_jpeg(input.reader.peek(3))) input.reader.fail("jpeg: does not begin as JPEG");
  const LibJpeg& library = opened<LibJpeg>();
  library.library.require(input.reader.name());
  // The header decides the channels, so it is read once before the source is made.
  const ImageExtras extras = read_jpeg_extras(input.reader);
  input.reader.seek(0);
  JpegHeader header = JpegDecoder(input.reader, library).open();
  check(input.reader, header);
  return std::make_unique<JpegSource>(std::move(input), std::move(header), extras, library);
}

}  // namespace masu::io

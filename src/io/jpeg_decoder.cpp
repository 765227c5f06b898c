// SPDX-License-Identifier: Apache-2.0
#include "io/jpeg_decoder.h"

#include <fmt/format.h>
#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {
namespace {

// A file that says nothing new in ever more scans would keep the decoder busy for hours.
constexpr int most_scans = 500;

std::vector<std::string> channel_names(J_COLOR_SPACE space, int components) {
  switch (space) {
    case JCS_GRAYSCALE: return {"gray"};
    case JCS_RGB: return {"red", "green", "blue"};
    case JCS_CMYK: return {"cyan", "magenta", "yellow", "black"};
    default: break;
  }
  std::vector<std::string> names;
  for (int i = 0; i < components; ++i) names.push_back(std::to_string(i));
  return names;
}

// The samples are as good as without this warning.
bool harmless(const jpeg_error_mgr& errors) noexcept {
  constexpr int end_of_image = 0xd9;
  return errors.msg_code == JWRN_JFIF_MAJOR || errors.msg_code == JWRN_ADOBE_XFORM ||
         (errors.msg_code == JWRN_EXTRANEOUS_DATA && errors.msg_parm.i[1] == end_of_image);
}

}  // namespace

JpegHeader JpegDecoder::open() {
  close();
  info_.err = jpeg_.jpeg_std_error(&errors_);
  errors_.error_exit = on_error;
  errors_.emit_message = on_message;
  errors_.output_message = [](j_common_ptr) {};
  info_.client_data = this;
  open_ = true;
  guarded(create);
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
  header.channels = channel_names(info_.out_color_space, info_.num_components);
  header.arithmetic = info_.arith_code != 0;
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

void JpegDecoder::read_row(std::byte* target) {
  row_ = reinterpret_cast<JSAMPROW>(target);
  guarded(read_one_row);
  // Adobe's files hold CMYK inverted: 255 is no ink.
  if (info_.out_color_space == JCS_CMYK && info_.saw_Adobe_marker)
    std::transform(row_, row_ + std::size_t{4} * info_.output_width, row_,
                   [](JSAMPLE value) { return static_cast<JSAMPLE>(255 - value); });
}

void JpegDecoder::close() noexcept {
  if (open_) jpeg_.jpeg_destroy_decompress(&info_);
  open_ = false;
}

void JpegDecoder::guarded(void (*body)(JpegDecoder*)) {
  if (!open_) reader_.fail("jpeg: cannot be read on after an error");
  if (enter(this, body)) return;
  close();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  std::string reason = failure_.data();
  for (char& c : reason)
    if (c < ' ' || c > '~') c = '?';
  reader_.fail(fmt::format("jpeg: {} (at byte {})", reason, reader_.position() - source_.bytes_in_buffer));
}

bool JpegDecoder::enter(JpegDecoder* self, void (*body)(JpegDecoder*)) {
  if (setjmp(self->jump_) != 0) return false;
  body(self);
  return true;
}

void JpegDecoder::create(JpegDecoder* self) {
  // The macro jpeg_create_decompress would call the function by its linked name.
  self->jpeg_.jpeg_CreateDecompress(&self->info_, JPEG_LIB_VERSION, sizeof(jpeg_decompress_struct));
}

void JpegDecoder::read_header(JpegDecoder* self) {
  jpeg_decompress_struct& info = self->info_;
  self->jpeg_.jpeg_read_header(&info, TRUE);
  if (info.jpeg_color_space == JCS_YCbCr) info.out_color_space = JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  self->several_scans_ = self->jpeg_.jpeg_has_multiple_scans(&info) != 0;
}

void JpegDecoder::start_rows(JpegDecoder* self) {
  self->jpeg_.jpeg_start_decompress(&self->info_);
}

void JpegDecoder::read_one_row(JpegDecoder* self) {
  self->jpeg_.jpeg_read_scanlines(&self->info_, &self->row_, 1);
}

void JpegDecoder::read_to_end(JpegDecoder* self) {
  self->jpeg_.jpeg_finish_decompress(&self->info_);
}

boolean JpegDecoder::on_fill(j_decompress_ptr info) {
  JpegDecoder& self = of(reinterpret_cast<j_common_ptr>(info));
  if (!self.fill()) std::longjmp(self.jump_, 1);
  return TRUE;
}

bool JpegDecoder::fill() noexcept {
  try {
    const std::size_t got = reader_.read(buffer_.data(), buffer_.size());
    source_.next_input_byte = buffer_.data();
    source_.bytes_in_buffer = got;
    if (got == 0) reader_.fail(fmt::format("truncated: the file ends at byte {} inside the image", reader_.position()));
    return true;
  } catch (...) {
    thrown_ = std::current_exception();
    return false;
  }
}

void JpegDecoder::on_skip(j_decompress_ptr info, long bytes) {
  jpeg_source_mgr& source = *info->src;
  while (bytes > 0) {
    if (source.bytes_in_buffer == 0) on_fill(info);
    const std::size_t step = std::min(source.bytes_in_buffer, static_cast<std::size_t>(bytes));
    source.next_input_byte += step;
    source.bytes_in_buffer -= step;
    bytes -= static_cast<long>(step);
  }
}

void JpegDecoder::on_error(j_common_ptr info) {
  JpegDecoder& self = of(info);
  self.errors_.format_message(info, self.failure_.data());
  std::longjmp(self.jump_, 1);
}

void JpegDecoder::on_message(j_common_ptr info, int level) {
  if (level < 0 && !harmless(of(info).errors_)) on_error(info);
}

void JpegDecoder::on_progress(j_common_ptr info) {
  JpegDecoder& self = of(info);
  if (self.info_.input_scan_number <= most_scans) return;
  std::strcpy(self.failure_.data(), "more scans than any image needs");
  std::longjmp(self.jump_, 1);
}

}  // namespace masu::io

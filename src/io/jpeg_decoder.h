// SPDX-License-Identifier: Apache-2.0
// libjpeg over a Reader.
#pragma once

#include <array>
#include <csetjmp>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "io/libjpeg.h"
#include "io/reader.h"

namespace masu::io {

struct JpegHeader {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::vector<std::string> channels;
  std::uint64_t blocks = 0;       // of 8 x 8 coefficients
  std::uint64_t frame_bytes = 0;  // of the coefficients, where they are held until the last scan is read; else 0
  bool arithmetic = false;        // arithmetic coding, which has no least number of bits for a block
};

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
  JpegHeader open();
  // Prepares for the first row; reads the whole file where the rows are spread over several scans.
  void start() { guarded(start_rows); }
  void read_row(std::byte* target);
  // Reads up to the end of the image.
  void end() { guarded(read_to_end); }

 private:
  void close() noexcept;
  void guarded(void (*body)(JpegDecoder*));
  static bool enter(JpegDecoder* self, void (*body)(JpegDecoder*));
  static void create(JpegDecoder* self);
  static void read_header(JpegDecoder* self);
  static void start_rows(JpegDecoder* self);
  static void read_one_row(JpegDecoder* self);
  static void read_to_end(JpegDecoder* self);

  static JpegDecoder& of(j_common_ptr info) noexcept { return *static_cast<JpegDecoder*>(info->client_data); }
  static boolean on_fill(j_decompress_ptr info);
  static void on_skip(j_decompress_ptr info, long bytes);
  static void on_error(j_common_ptr info);
  static void on_message(j_common_ptr info, int level);
  static void on_progress(j_common_ptr info);
  bool fill() noexcept;

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

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// Bytes that other bytes stand for: files compressed by gzip or zstd, and the arrays of a .npz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "io/reader.h"

namespace masu::io {

// Decoded as they are read. To go back means to begin again, so nothing is kept.
class DecodedStream : public ByteStream {
 public:
  explicit DecodedStream(Reader reader) : reader_(std::move(reader)) {}
  std::size_t read(std::byte* target, std::size_t bytes) final;
  void seek(std::uint64_t position) final;
  std::uint64_t measure() final;
  void forget() final { reader_.forget(); }
  [[nodiscard]] bool is_file() const final { return reader_.is_file(); }
  [[nodiscard]] bool has_checksum() const final { return true; }

 protected:
  // Decodes up to `bytes`, at least one; 0 at the end, when all that tells whether the data are right has been read.
  virtual std::size_t decode(std::byte* target, std::size_t bytes) = 0;
  virtual void begin_again() = 0;

  Reader reader_;

 private:
  // A byte is decoded ahead, so the end of the data is checked before the last of them are given.
  std::optional<std::byte> ahead_;
  bool looked_ahead_ = false;
  std::uint64_t position_ = 0;
};

bool is_gzip(std::span<const std::byte> head) noexcept;
bool is_zstd(std::span<const std::byte> head) noexcept;
bool is_zip(std::span<const std::byte> head) noexcept;

// Each takes a reader at its first byte. They throw unsupported where the library is not there.
std::unique_ptr<ByteStream> gzip_stream(Reader reader);
std::unique_ptr<ByteStream> zstd_stream(Reader reader);
// The file `array`, else `array`.npy, of a ZIP archive; "": the only .npy in it.
std::unique_ptr<ByteStream> zip_stream(Reader reader, std::string_view array);

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
#include "io/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace masu::io {
namespace {

constexpr std::size_t reader_buffer_bytes = std::size_t{1} << 18;
constexpr std::uint64_t unmeasured_memory = std::uint64_t{1} << 24;

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::span<const std::byte> bytes, bool known_size) : bytes_(bytes), known_size_(known_size) {}
  std::size_t read(std::byte* target, std::size_t bytes) override {
    bytes = std::min(bytes, bytes_.size() - position_);
    if (bytes != 0) std::memcpy(target, bytes_.data() + position_, bytes);
    position_ += bytes;
    return bytes;
  }
  void seek(std::uint64_t position) override {
    position_ = static_cast<std::size_t>(std::min<std::uint64_t>(position, bytes_.size()));
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override {
    if (!known_size_) return std::nullopt;
    return bytes_.size();
  }
  std::uint64_t measure() override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool known_size_;
  std::size_t position_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> memory_stream(std::span<const std::byte> bytes, bool known_size) {
  return std::make_unique<MemoryStream>(bytes, known_size);
}

void fail_io(std::string_view name, std::string_view reason) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", name, reason));
}

void fail_errno(std::string_view name, std::string_view action, int error) {
  fail_io(name, fmt::format("{}: {}", action, std::generic_category().message(error)));
}

Reader::Reader(std::string name, std::unique_ptr<ByteStream> stream)
    : name_(std::move(name)),
      stream_(std::move(stream)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(reader_buffer_bytes)) {}

std::uint64_t Reader::measured_size() {
  if (const auto known = stream_->size()) return *known;
  const std::uint64_t here = position();
  const std::uint64_t total = stream_->measure();
  begin_ = end_ = 0;
  buffer_start_ = total;
  seek(here);
  return total;
}

std::span<const std::byte> Reader::peek(std::size_t bytes) {
  bytes = std::min(bytes, peek_limit);
  if (end_ - begin_ < bytes && !ended_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    buffer_start_ += begin_;
    end_ -= begin_;
    begin_ = 0;
    while (end_ < bytes) {
      const std::size_t got = stream_->read(buffer_.get() + end_, reader_buffer_bytes - end_);
      ended_ = got == 0;
      if (ended_) break;
      end_ += got;
    }
  }
  return {buffer_.get() + begin_, end_ - begin_};
}

std::size_t Reader::read(void* target, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(target);
  std::size_t done = 0;
  while (done < bytes) {
    if (begin_ == end_ && bytes - done >= reader_buffer_bytes) {
      const std::size_t got = stream_->read(out + done, bytes - done);
      if (got == 0) break;
      buffer_start_ += begin_ + got;
      begin_ = end_ = 0;
      done += got;
      continue;
    }
    const std::size_t got = std::min(bytes - done, peek(1).size());
    if (got == 0) break;
    std::memcpy(out + done, buffer_.get() + begin_, got);
    begin_ += got;
    done += got;
  }
  return done;
}

void Reader::compare_checksum() {
  if (!stream_->has_checksum()) return;
  while (!peek(1).empty()) consume(end_ - begin_);
}

void Reader::read_exact(void* target, std::size_t bytes, std::string_view what) {
  if (read(target, bytes) != bytes)
    fail(fmt::format("truncated: the file ends at byte {} inside {}", position(), what));
}

void Reader::seek(std::uint64_t position) {
  if (position >= buffer_start_ && position <= buffer_start_ + end_) {
    begin_ = static_cast<std::size_t>(position - buffer_start_);
    return;
  }
  stream_->seek(position);
  buffer_start_ = position;
  begin_ = end_ = 0;
  ended_ = false;
}

void Reader::require(std::uint64_t start, std::uint64_t bytes, std::uint64_t memory, std::string_view what) {
  if (!size() && memory <= unmeasured_memory) return;
  const std::uint64_t total = measured_size();
  if (start <= total && bytes <= total - start) return;
  fail(fmt::format("truncated: {} needs {} bytes from byte {}, but the file ends at byte {}", what, bytes, start,
                   total));
}

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product >> 63 != 0) return std::nullopt;
  return product;
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, 40));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > 40) out += "...";
  return out;
}

}  // namespace masu::io

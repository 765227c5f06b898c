// SPDX-License-Identifier: Apache-2.0
// PBM, PGM, PPM (P1 to P6), PAM (P7) and PFM (Pf, PF). Samples keep the values of the file; of a PBM, 1 is black.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "io/sources.h"
#include "runtime/text.h"

namespace masu::io {
namespace {

struct PnmHeader {
  int kind = 0;  // the digit after P
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint64_t depth = 1;
  std::uint64_t largest = 1;  // maxval
  std::uint64_t data = 0;     // byte of the first sample

  [[nodiscard]] bool ascii() const noexcept { return kind <= 3; }
  [[nodiscard]] Dtype dtype() const noexcept { return largest > 255 ? Dtype::u16 : Dtype::u8; }
};

bool is_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

int next_char(Reader& reader) {
  const auto head = reader.peek(1);
  if (head.empty()) return -1;
  const int c = std::to_integer<int>(head[0]);
  reader.consume(1);
  return c;
}

void skip_line(Reader& reader) {
  int c = 0;
  while ((c = next_char(reader)) >= 0 && c != '\n') {
  }
}

// The next number of a header or of ASCII samples, and the one character after it.
std::uint64_t next_number(Reader& reader, std::string_view what) {
  int c = next_char(reader);
  while (c == '#' || (c >= 0 && is_space(static_cast<char>(c)))) {
    if (c == '#') skip_line(reader);
    c = next_char(reader);
  }
  if (c < 0) reader.fail("pnm: truncated: the file ends at byte {} before {}", reader.position(), what);
  std::uint64_t value = 0;
  if (c < '0' || c > '9') reader.fail("pnm: {} is not a number at byte {}", what, reader.position() - 1);
  for (; c >= '0' && c <= '9'; c = next_char(reader)) {
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    if (value > 0x7fffffff) reader.fail("pnm: {} is too large at byte {}", what, reader.position());
  }
  if (c == '#') skip_line(reader);
  else if (c >= 0 && !is_space(static_cast<char>(c)))
    reader.fail("pnm: {} is not a number at byte {}", what, reader.position() - 1);
  return value;
}

void read_pam_header(Reader& reader, PnmHeader& header) {
  header.depth = header.largest = 0;
  for (;;) {
    std::string line;
    int c = 0;
    while ((c = next_char(reader)) >= 0 && c != '\n' && line.size() < 256) line += static_cast<char>(c);
    if (c < 0) reader.fail("pam: truncated: the file ends at byte {} inside the header", reader.position());
    if (!line.empty() && line[0] == '#') {
      if (c != '\n') skip_line(reader);
      continue;
    }
    if (c != '\n') reader.fail("pam: a header line is too long");
    while (!line.empty() && is_space(line.back())) line.pop_back();
    if (line.empty() || line.starts_with("TUPLTYPE")) continue;
    if (line == "ENDHDR") break;
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string key = line.substr(0, space);
    std::uint64_t value = 0;
    const std::string number = line.substr(std::min(line.find_first_not_of(' ', space), line.size()));
    if (!runtime::is_number(number, value) || value > 0x7fffffff) reader.fail("pam: header line '{}'", printable(line));
    if (key == "WIDTH") header.width = value;
    else if (key == "HEIGHT") header.height = value;
    else if (key == "DEPTH") header.depth = value;
    else if (key == "MAXVAL") header.largest = value;
    else reader.fail("pam: header line '{}'", printable(line));
  }
  if (header.depth < 1 || header.depth > 4) reader.fail("pam: depth must be 1 to 4, got {}", header.depth);
}

struct PfmHeader {
  bool colour = false;
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  double scale = 1;      // below 0: the samples are little-endian
  std::size_t data = 0;  // byte of the first sample
};

// Two letters and three numbers; a text with a heading may begin so too, but then only numbers follow.
std::optional<PfmHeader> pfm_header(std::span<const std::byte> head) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  PfmHeader header;
  header.colour = text.starts_with("PF");
  if (!header.colour && !text.starts_with("Pf")) return std::nullopt;
  std::size_t at = 2;
  const auto number = [&](auto& value) {
    const std::size_t begin = at;
    while (at < text.size() && is_space(text[at])) ++at;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    const bool apart = at > begin;
    at = static_cast<std::size_t>(end - text.data());
    return apart && error == std::errc() && at < text.size() && is_space(text[at]);
  };
  if (!number(header.width)) return std::nullopt;
  const bool one_line = text[at] == ' ' || text[at] == '\t';
  if (!number(header.height) || !number(header.scale)) return std::nullopt;
  constexpr std::uint64_t most = 0x7fffffff;
  const bool possible = header.width - 1 < most && header.height - 1 < most && header.scale != 0;
  if (!possible || !std::isfinite(header.scale)) return std::nullopt;
  header.data = at + 1;
  const std::string_view rest = text.substr(header.data);
  const bool numbers = rest.find_first_not_of("0123456789+-.eE,; \t\r\n") == std::string_view::npos;
  if (rest.empty() ? !one_line : numbers) return std::nullopt;
  return header;
}

// Whether another image follows.
bool next_image(Reader& reader) {
  auto head = reader.peek(64);
  while (!head.empty() && is_space(static_cast<char>(head[0]))) head = head.subspan(1);
  return is_pnm(head);
}

constexpr const char* another_follows = "read the first image only, another one follows";

// The file has its rows from the bottom up.
class PfmSource final : public RowSource {
 public:
  PfmSource(Input input, const PfmHeader& header)
      : RowSource(std::move(input), "pfm", Dtype::f32, header.height, header.width,
                  channel_names(header.colour ? 3 : 1)),
        header_(header) {
    const std::uint64_t row_bytes = row_elements() * sizeof(float);
    const auto bytes = checked_product(row_bytes, header.height);
    if (!bytes) reader_.fail("pfm: {} x {} pixels are absurd", header.width, header.height);
    reader_.require(header.data, *bytes, row_bytes,
                    fmt::format("pfm: {} x {} pixels of {} channels", header.width, header.height, info_.shape[2]));
    if (std::abs(header.scale) != 1)
      note(fmt::format("values are as stored, not multiplied by the scale {}", std::abs(header.scale)));
    keep_all();
  }

 private:
  void start() override {}
  void next_row(std::uint64_t row, std::byte* target) override {
    const std::uint64_t bytes = row_elements() * sizeof(float);
    const std::uint64_t end = header_.data + header_.height * bytes;
    if (row == 0 && !std::exchange(ended_, true)) {
      reader_.seek(end);
      if (next_image(reader_)) note(another_follows);
    }
    reader_.seek(end - (row + 1) * bytes);
    reader_.read_exact(target, bytes, "the pixels");
    const bool big = header_.scale > 0;
    if (big != (std::endian::native == std::endian::big)) swap_bytes(target, row_elements(), sizeof(float));
  }

  PfmHeader header_;
  bool ended_ = false;  // the bytes after the image were examined
};

PnmHeader read_pnm_header(Reader& reader) {
  PnmHeader header;
  std::byte magic[2];
  reader.read_exact(magic, 2, "the header");
  header.kind = std::to_integer<int>(magic[1]) - '0';
  if (header.kind == 7) {
    read_pam_header(reader, header);
  } else {
    header.width = next_number(reader, "the width");
    header.height = next_number(reader, "the height");
    const bool bitmap = header.kind == 1 || header.kind == 4;
    if (!bitmap) header.largest = next_number(reader, "the largest value");
    header.depth = header.kind == 3 || header.kind == 6 ? 3 : 1;
  }
  if (header.width == 0 || header.height == 0) reader.fail("pnm: {} x {} pixels", header.width, header.height);
  if (header.largest == 0 || header.largest > 65535)
    reader.fail("pnm: the largest value must be 1 to 65535, got {}", header.largest);
  header.data = reader.position();
  return header;
}

class PnmSource final : public RowSource {
 public:
  PnmSource(Input input, const PnmHeader& header)
      : RowSource(std::move(input), "pnm", header.dtype(), header.height, header.width, channel_names(header.depth)),
        header_(header) {
    const std::uint64_t elements = *info_.count;
    const std::uint64_t row_bytes = row_elements() * size_of(info_.dtype);
    // ASCII samples take a digit each, and white space between them except in P1.
    std::optional<std::uint64_t> least;
    if (header_.kind == 4) least = checked_product((header_.width + 7) / 8, header_.height);
    else if (header_.kind == 1) least = elements;
    else if (header_.ascii()) least = checked_product(elements, 2);
    else least = checked_product(row_bytes, header_.height);
    if (!least) reader_.fail("pnm: {} x {} pixels are absurd", header_.width, header_.height);
    if (header_.kind == 2 || header_.kind == 3) --*least;
    reader_.require(header_.data, *least, row_bytes,
                    fmt::format("pnm: {} x {} pixels of {} channels", header_.width, header_.height, header_.depth));
    note_largest(header_.largest);
    if (header_.kind == 1 || header_.kind == 4) note("0 is white and 1 black, as stored");
    if (header_.ascii() || !reader_.size()) return;
    reader_.seek(header_.data + *least);  // checked now, as a caller may read only a part of the image
    several_ = next_image(reader_);
    if (several_) note(another_follows);
  }

 private:
  void start() override { reader_.seek(header_.data); }

  void next_row(std::uint64_t, std::byte* target) override {
    const std::uint64_t elements = row_elements();
    if (header_.kind == 1) {
      for (std::uint64_t i = 0; i < elements; ++i) target[i] = next_bit();
    } else if (header_.kind == 4) {
      bits_.resize((elements + 7) / 8);
      reader_.read_exact(bits_.data(), bits_.size(), "the pixels");
      for (std::uint64_t i = 0; i < elements; ++i) target[i] = bits_[i / 8] >> (7 - i % 8) & std::byte{1};
    } else {
      if (info_.dtype == Dtype::u8) samples(reinterpret_cast<std::uint8_t*>(target), elements);
      else samples(reinterpret_cast<std::uint16_t*>(target), elements);
    }
  }

  template <class T>
  void samples(T* target, std::uint64_t elements) {
    if (header_.ascii()) {
      for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint64_t value = next_number(reader_, "a sample");
        if (value > header_.largest) too_large(value);
        target[i] = static_cast<T>(value);
      }
      return;
    }
    reader_.read_exact(target, elements * sizeof(T), "the pixels");
    if (sizeof(T) == 2 && std::endian::native == std::endian::little) swap_bytes(target, elements, sizeof(T));
    if (header_.largest == (sizeof(T) == 1 ? 255 : 65535)) return;
    for (std::uint64_t i = 0; i < elements; ++i)
      if (target[i] > header_.largest) too_large(target[i]);
  }

  // P1 has no need of white space between its digits.
  std::byte next_bit() {
    for (;;) {
      const int c = next_char(reader_);
      if (c == '0' || c == '1') return static_cast<std::byte>(c - '0');
      if (c < 0) reader_.fail("truncated: the file ends at byte {} inside the pixels", reader_.position());
      if (c == '#') skip_line(reader_);
      else if (!is_space(static_cast<char>(c)))
        reader_.fail("pnm: a pixel is neither 0 nor 1 at byte {}", reader_.position() - 1);
    }
  }

  void finish() override {
    if (several_ || !next_image(reader_)) return;
    several_ = true;
    note(another_follows);
  }

  [[noreturn]] void too_large(std::uint64_t value) const {
    reader_.fail("pnm: a sample is {}, above the largest value {}", value, header_.largest);
  }

  PnmHeader header_;
  std::vector<std::byte> bits_;
  bool several_ = false;  // it is noted that another image follows
};

}  // namespace

bool is_pnm(std::span<const std::byte> head) noexcept {
  if (pfm_header(head)) return true;
  if (head.size() < 3 || head[0] != std::byte{'P'}) return false;
  const char kind = static_cast<char>(head[1]);
  const char next = static_cast<char>(head[2]);
  return kind >= '1' && kind <= '7' && (is_space(next) || next == '#');
}

std::unique_ptr<Source> open_pnm(Input input) {
  if (const auto header = pfm_header(input.reader.peek(4096)))
    return std::make_unique<PfmSource>(std::move(input), *header);
  const PnmHeader header = read_pnm_header(input.reader);
  return std::make_unique<PnmSource>(std::move(input), header);
}

}  // namespace masu::io

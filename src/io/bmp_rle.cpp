// SPDX-License-Identifier: Apache-2.0
#include "io/bmp_rle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace masu::io {

RleRows::RleRows(Reader& reader, std::uint64_t start, std::uint64_t width, std::uint64_t height, unsigned bits)
    : reader_(reader), width_(width), height_(height), bits_(bits) {
  reader_.seek(start);
  Position at;
  starts_.push_back({0, 0, start});
  while (!at.ended) {
    step(at, {});
    if (!at.ended && at.row != starts_.back().row) starts_.push_back({at.row, at.x, reader_.position()});
  }
}

void RleRows::row(std::uint64_t row, std::span<std::byte> target) {
  std::fill(target.begin(), target.end(), std::byte{0});
  const auto found = std::lower_bound(starts_.begin(), starts_.end(), row,
                                      [](const Start& start, std::uint64_t wanted) { return start.row < wanted; });
  if (found == starts_.end() || found->row != row) return;
  Position at{row, found->x, false};
  reader_.seek(found->byte);
  while (!at.ended && at.row == row) step(at, target);
}

void RleRows::put(Position& at, std::span<std::byte> target, unsigned index) {
  if (at.row >= height_ || at.x >= width_)
    reader_.fail(fmt::format("bmp: a run leaves the image at byte {}", reader_.position()));
  if (!target.empty()) target[at.x] = static_cast<std::byte>(index);
  ++at.x;
}

void RleRows::step(Position& at, std::span<std::byte> target) {
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
      reader_.fail(fmt::format("bmp: a skip leaves the image at byte {}", reader_.position()));
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

}  // namespace masu::io

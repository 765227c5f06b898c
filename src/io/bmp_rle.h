// SPDX-License-Identifier: Apache-2.0
// Run-length encoded bitmaps, one row at a time and in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/reader.h"

namespace masu::io {

class RleRows {
 public:
  // Reads the codes once to find where each stored row (0 is the bottom one) begins.
  RleRows(Reader& reader, std::uint64_t start, std::uint64_t width, std::uint64_t height, unsigned bits);
  // Palette indices of a stored row; what the codes skip is 0.
  void row(std::uint64_t row, std::span<std::byte> target);

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
  void step(Position& at, std::span<std::byte> target);
  void put(Position& at, std::span<std::byte> target, unsigned index);

  Reader& reader_;
  std::uint64_t width_;
  std::uint64_t height_;
  unsigned bits_;
  std::vector<Start> starts_;  // by row
};

}  // namespace masu::io

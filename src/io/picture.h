// SPDX-License-Identifier: Apache-2.0
// Pictures of 8 bits a sample, as the bytes of files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace masu::io {

struct Picture {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  unsigned channels = 1;              // 1: gray; 3: red, green, blue
  std::vector<std::uint8_t> samples;  // row by row, channels interleaved
};

// Through libpng. Throws io where it is missing, or refuses the size.
std::string png_of(const Picture& picture);
// PGM or PPM.
std::string pnm_of(const Picture& picture);

}  // namespace masu::io

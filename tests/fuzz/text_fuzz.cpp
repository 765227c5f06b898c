// SPDX-License-Identifier: Apache-2.0
// The first four bytes choose the options.
#include <array>

#include "read_twice.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  constexpr std::array<const char*, 6> columns = {"", "1", "2", "7", "a", "name:b"};
  constexpr std::array<const char*, 7> delimiters = {"", ",", ";", "tab", " ", "x", "blanks"};
  constexpr std::array<const char*, 4> comments = {"#", "", "//", "-"};
  masu::io::SourceOptions options;
  options.format = masu::io::InputFormat::text;
  // 11 and 12: the numbers decide it.
  if (data[0] % 13 < 11) options.dtype = static_cast<masu::Dtype>(data[0] % 13);
  options.memory = 1;
  options.column = columns[data[1] % columns.size()];
  options.delimiter = delimiters[data[2] % delimiters.size()];
  if ((data[3] & 0x08) == 0) options.comment = comments[data[3] % comments.size()];
  if ((data[3] & 0x10) != 0) options.decimal = (data[3] & 0x20) != 0 ? "," : ".";
  options.places = (data[1] & 0x80) != 0;
  options.header = (data[3] & 0x40) != 0;
  options.strict = (data[3] & 0x80) != 0;
  masu::io::fuzz::read_twice({data + 4, size - 4}, options, masu::io::open_text);
  return 0;
}

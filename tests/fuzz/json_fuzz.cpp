// SPDX-License-Identifier: Apache-2.0
// The first byte chooses the options.
#include <array>

#include "read_twice.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  constexpr std::array<const char*, 5> keys = {"", "a", "a.b", "c.0", "c.1.a"};
  masu::io::SourceOptions options;
  options.format = masu::io::InputFormat::json;
  options.memory = 1;
  options.column = keys[data[0] % keys.size()];
  if ((data[0] & 0x20) != 0) options.dtype = masu::Dtype::f32;
  options.places = (data[0] & 0x40) != 0;
  options.strict = (data[0] & 0x80) != 0;
  masu::io::fuzz::read_twice({data + 1, size - 1}, options, masu::io::open_json);
  return 0;
}

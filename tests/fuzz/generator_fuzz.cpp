// SPDX-License-Identifier: Apache-2.0
// The texts of generators, and the parser of sizes behind them.
#include <string>

#include "read_twice.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    masu::io::parse_size(text);
  } catch (const masu::Error&) {
  }
  for (const char* before : {"", "random:f32:100:", "random:i8:64Ki:dist="}) {
    try {
      const auto source = masu::io::open_generator(before + text, {});
      const auto first = masu::io::fuzz::read_some(*source, 4096);
      source->rewind();
      if (first.failed || masu::io::fuzz::read_some(*source, 1021) != first) std::abort();
    } catch (const masu::Error&) {
    }
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "read_twice.h"

// A few bytes can stand for 64 Mi pixels; decoding them all again and again would find nothing.
static std::unique_ptr<masu::io::Source> open_small(masu::io::Input input) {
  auto source = masu::io::open_webp(std::move(input));
  if (source->info().count > std::uint64_t{1} << 22) masu::io::fail_io("fuzz", "too large");
  return source;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  masu::io::fuzz::read_twice({data, size}, {}, open_small);
  return 0;
}

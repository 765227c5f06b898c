// SPDX-License-Identifier: Apache-2.0
#include "read_twice.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  masu::io::fuzz::read_twice({data, size}, {}, masu::io::open_tiff);
  return 0;
}

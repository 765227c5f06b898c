// SPDX-License-Identifier: Apache-2.0
// Telling by content, and raw files. The first three bytes choose the options.
#include "read_twice.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  masu::io::SourceOptions options;
  if (data[0] % 12 < 11) options.dtype = static_cast<masu::Dtype>(data[0] % 12);
  options.format = static_cast<masu::io::InputFormat>(data[1] % 6);
  options.endian = (data[1] & 0x80) != 0 ? masu::io::Endian::big : masu::io::Endian::little;
  options.offset = data[2] & 0xf;
  if ((data[2] & 0x80) != 0) options.count = data[2] >> 4 & 7;
  // Their libraries are not made for damage of every kind.
  const auto head = std::as_bytes(std::span(data + 3, size - 3));
  if (masu::io::is_hdf5(head) || masu::io::is_fits(head)) return 0;
  masu::io::fuzz::read_twice({data + 3, size - 3}, options, masu::io::open_input);
  return 0;
}

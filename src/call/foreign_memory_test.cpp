// SPDX-License-Identifier: Apache-2.0
// Memory of the caller's may begin at any element: wrapped from a GPU's address on, it gives what memory of masu's
// gives.
#include "each_device.h"

#include <gtest/gtest.h>
#include <masu/convert.h>
#include <masu/gather.h>
#include <masu/scan.h>
#include <masu/sort.h>
#include <masu/transpose.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace masu {
namespace {

class ForeignMemoryTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(ForeignMemoryTest);

TEST_P(ForeignMemoryTest, BeginsAnywhere) {
  if (device.kind() != DeviceKind::cuda) GTEST_SKIP() << "the devices of this backend have no addresses";
  constexpr std::uint64_t rows = 97;
  constexpr std::uint64_t columns = 311;
  constexpr std::uint64_t count = rows * columns;
  using Call = std::function<void(const BufferBase& in, Dtype dtype, BufferBase& out)>;
  const std::vector<Call> calls{
      [](const BufferBase& in, Dtype dtype, BufferBase& out) { sort(in, dtype, out); },
      [](const BufferBase& in, Dtype dtype, BufferBase& out) { scan(in, dtype, out); },
      [](const BufferBase& in, Dtype dtype, BufferBase& out) { reverse(in, size_of(dtype), out); },
      [](const BufferBase& in, Dtype dtype, BufferBase& out) { transpose(in, size_of(dtype), rows, columns, out); },
      [](const BufferBase& in, Dtype dtype, BufferBase& out) { convert(in, dtype, out, dtype); },
  };
  for (const Dtype dtype : {Dtype::u8, Dtype::u16, Dtype::u32, Dtype::u64}) {
    const std::size_t size = size_of(dtype);
    std::vector<std::byte> bytes(count * size);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 41 % 251);
    const Buffer<std::byte> own = device.upload(bytes);
    for (const std::size_t skip : {1, 3, 5}) {
      SCOPED_TRACE(std::string(to_string(dtype)) + ", " + std::to_string(skip) + " elements in front");
      const Buffer<std::byte> in_room(device, (count + skip) * size);
      const Buffer<std::byte> out_room(device, (count + skip) * size);
      const auto wrapped = [&](const Buffer<std::byte>& room) {
        return Buffer<std::byte>::wrap_native(device, static_cast<std::byte*>(room.native()) + skip * size,
                                              count * size);
      };
      Buffer<std::byte> in = wrapped(in_room);
      Buffer<std::byte> out = wrapped(out_room);
      in.write(bytes);
      for (std::size_t call = 0; call < calls.size(); ++call) {
        Buffer<std::byte> expected(device, count * size);
        calls[call](own, dtype, expected);
        calls[call](in, dtype, out);
        ASSERT_EQ(out.read(), expected.read()) << "call " << call;
      }
    }
  }
}

}  // namespace
}  // namespace masu

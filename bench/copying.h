// SPDX-License-Identifier: Apache-2.0
// How fast a device copies from its memory to its memory: what reads its input once and writes as much cannot be
// faster.
#pragma once

#include <masu/buffer.h>
#include <masu/program.h>
#include <masu/stream.h>

#include <optional>
#include <span>

namespace masu::bench {

// The best of the driver's copy and several shapes of a kernel. What is copied is whole vectors of 16 bytes.
class DeviceCopy {
 public:
  // Tries the shapes; with `quick` one.
  DeviceCopy(const Buffer<std::byte>& source, Buffer<std::byte>& target, bool quick);
  // Copies, to a target as large as the source (which may be larger or smaller than the first); the event has the
  // device time.
  Event copy(Stream& stream, const Buffer<std::byte>& source, Buffer<std::byte>& target);

 private:
  struct Shape {
    unsigned group = 0;  // 0: the driver's copy
    unsigned groups_per_unit = 0;
    unsigned unroll = 0;
    bool streaming = false;
  };
  [[nodiscard]] Kernel compile(const Shape& shape) const;
  Event launch(Stream& stream, const Shape& shape, const Buffer<std::byte>& source, Buffer<std::byte>& target,
               Kernel* kernel) const;

  Device device_;
  Shape best_;
  std::optional<Kernel> kernel_;
};

// The same on `cpu`, by as many threads as masu uses at the time: seconds of one copy.
double copy_plainly(std::span<const std::byte> source, std::span<std::byte> target);

}  // namespace masu::bench

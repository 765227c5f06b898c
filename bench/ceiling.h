// SPDX-License-Identifier: Apache-2.0
// How fast a device reads: the speed that everything else is held against, measured in the same run on the same bytes.
#pragma once

#include <masu/buffer.h>
#include <masu/program.h>
#include <masu/stream.h>

#include <cstdint>
#include <optional>
#include <span>

namespace masu::bench {

// The exclusive or of all 32-bit words of the 16-byte vectors of `data`: what a reader must find.
std::uint32_t fold(std::span<const std::byte> data);

// A kernel of ceiling.cl.
Kernel ceiling_kernel(const Device& device, const char* name, unsigned unroll, bool streaming);

// Plain reading on a GPU or another OpenCL device: the best of several shapes of one kernel.
class DeviceCeiling {
 public:
  // Tries the shapes on `data`, whose fold is `expected`. With `quick` only one.
  DeviceCeiling(const Device& device, const Buffer<std::byte>& data, std::uint32_t expected, bool quick);
  // Reads `data` (as large as the first one) once; the event has the device time.
  Event read(Stream& stream, const Buffer<std::byte>& data);

 private:
  struct Shape {
    unsigned group;
    unsigned groups_per_unit;
    unsigned unroll;
    bool streaming;
  };
  Event launch(Stream& stream, const Buffer<std::byte>& data, const Shape& shape, Kernel& kernel, std::uint32_t mask);
  void check(const Buffer<std::byte>& data, const Shape& shape, Kernel& kernel, std::uint32_t expected);

  Device device_;
  std::optional<Buffer<std::uint32_t>> result_;
  Shape best_{};
  std::optional<Kernel> kernel_;
};

// Plain reading by CPU threads, as many as masu uses at the time: the best of several sizes of a thread's share.
class CpuCeiling {
 public:
  explicit CpuCeiling(std::span<const std::byte> data);
  // Seconds of one reading.
  double read(std::span<const std::byte> data) const;

 private:
  std::uint64_t pieces_ = 1;
};

}  // namespace masu::bench

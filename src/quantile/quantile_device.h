// SPDX-License-Identifier: Apache-2.0
// Partition on an OpenCL or CUDA device: launches alone, nothing is read back.
#pragma once

#include <masu/buffer.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstdint>

namespace masu {

struct DevicePartition {
  const BufferBase& data;
  Dtype dtype;
  const BufferBase& result;  // the elements, or their indices
  unsigned index_bytes;      // 0: elements
  const BufferBase& sizes;   // u64: how many elements are less, and equal
};

// Bytes of temporary memory for `count` elements around the one at a place.
std::uint64_t partition_bytes(const Device& device, Dtype dtype, std::uint64_t count);
// Around the element at place k, which is below the elements.
void partition_on_device(Stream& stream, const DevicePartition& what, std::uint64_t k, const BufferBase& workspace);

// The same around an element of these bits, for any number of elements; this waits, and its memory is not asked for.
void partition_around(Stream& stream, const DevicePartition& what, std::uint64_t bits);

}  // namespace masu

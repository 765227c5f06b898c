// SPDX-License-Identifier: Apache-2.0
// Partition on an OpenCL or CUDA device.
#pragma once

#include <masu/buffer.h>
#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>

namespace masu {

// Writes the elements whose key is less, then those that have it, then the others, to `result`.
PartitionResult partition_on_device(const BufferBase& data, Dtype dtype, const BufferBase& result, std::uint64_t key);
// Bytes of temporary memory of it, for `count` elements.
std::uint64_t partition_bytes(const Device& device, std::uint64_t count);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Memory as kernels get it.
#pragma once

#include "runtime/backend.h"

#include <masu/buffer.h>

#include <cstddef>

namespace masu {

// The whole memory that a buffer lies in: kernels take any byte offset into it, OpenCL only aligned sub-buffers.
inline Buffer<const std::byte> whole(const BufferBase& buffer) {
  return Buffer<const std::byte>(buffer.device(), buffer.memory(), 0, buffer.memory()->bytes());
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Transposing on the CPU, and on an OpenCL or CUDA device.
#pragma once

#include "transpose/transpose_plan.h"

#include <masu/stream.h>
#include <cstddef>
#include <cstdint>

namespace masu {

// `out` may be `in` where rows == columns. Elements of 1 to 64 bytes.
void transpose_cpu(const void* in, void* out, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns);

// Transposing on an OpenCL or CUDA device.

// Queues the transposition; `in` and `out` are the same memory where plan.in_place.
Event transpose_on_device(Stream& stream, const BufferBase& in, const transpose_plan::Matrix& matrix,
                          const BufferBase& out, const transpose_plan::Plan& plan);

}  // namespace masu

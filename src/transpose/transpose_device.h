// SPDX-License-Identifier: Apache-2.0
// Transposing on an OpenCL or CUDA device.
#pragma once

#include "transpose/transpose_plan.h"

#include <masu/stream.h>

namespace masu {

// Queues the transposition; `in` and `out` are the same memory where plan.in_place.
Event transpose_on_device(Stream& stream, const BufferBase& in, const transpose_plan::Matrix& matrix,
                          const BufferBase& out, const transpose_plan::Plan& plan);

}  // namespace masu

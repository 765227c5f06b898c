// SPDX-License-Identifier: Apache-2.0
// Searching on an OpenCL or CUDA device.
#pragma once

#include "search/search_plan.h"

#include <masu/search.h>
#include <masu/stream.h>

namespace masu {

// Queues the search of `values` values in `sorted` elements.
Event search_on_device(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                       const BufferBase& positions, Dtype position_dtype, const SearchOptions& options,
                       const search_plan::Plan& plan);

}  // namespace masu

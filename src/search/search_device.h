// SPDX-License-Identifier: Apache-2.0
// Searching on the CPU, and on an OpenCL or CUDA device.
#pragma once

#include "search/search_plan.h"

#include <masu/search.h>
#include <masu/stream.h>

namespace masu {

// options.times is not filled. positions.dtype is u32 or u64, positions.count is values.count.
void search_cpu(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                const SearchOptions& options);

// Searching on an OpenCL or CUDA device.

// Queues the search of `values` values in `sorted` elements.
Event search_on_device(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                       const BufferBase& positions, Dtype position_dtype, const SearchOptions& options,
                       const search_plan::Plan& plan);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Searching on the CPU.
#pragma once

#include <masu/search.h>

namespace masu {

// options.times is not filled. positions.dtype is u32 or u64, positions.count is values.count.
void search_cpu(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                const SearchOptions& options);

}  // namespace masu

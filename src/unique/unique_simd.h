// SPDX-License-Identifier: Apache-2.0
// Marks where runs start, with the widest vectors of this processor.
#pragma once

#include <masu/dtype.h>

#include <cstdint>

namespace masu {

// Bit i of the mask, for i in [0, count): element i is not equal to element i - 1. Element 0 is compared with the one
// in front of `elements` where `has_before`; else its bit is set. Bits behind `count` in the last of the words are 0.
// Words are written byte by byte, the first bit lowest.
void mark_starts(Dtype dtype, const void* elements, std::uint64_t count, bool has_before, std::uint8_t* mask);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Converting a few thousand elements, with the widest vectors of this processor.
#pragma once

#include "convert/convert_rule.h"

#include <cstddef>

namespace masu {

// At most so many elements at a time.
inline constexpr std::size_t convert_block = 2048;

// Whether there is a fast way for the rule.
bool has_fast_way(const ConvertRule& rule) noexcept;
// Converts `count` elements; true: something did not fit. Where rule.overflow is wrap, that is never told.
bool convert_fast(const ConvertRule& rule, const void* in, void* out, std::size_t count) noexcept;

}  // namespace masu

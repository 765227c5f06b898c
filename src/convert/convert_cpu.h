// SPDX-License-Identifier: Apache-2.0
// Converting on the CPU.
#pragma once

#include "convert/convert_rule.h"

#include <cstdint>

namespace masu {

inline constexpr std::uint64_t no_position = ~std::uint64_t{0};

// Converts `count` elements by the rule; the first position of what does not fit, or no_position. The memories do not
// overlap.
std::uint64_t convert_cpu(const ConvertRule& rule, const void* in, void* out, std::uint64_t count);

}  // namespace masu

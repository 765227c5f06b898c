// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/dtype.h>

#include <cstdint>

namespace masu_python {

// What of these elements a comparison leaves in any order: bit 0 zeros of both signs, bit 1 NaNs, bit 2 NaNs with other
// bits than the one that NumPy's sort writes for all of them, which of f16 may be any.
inline constexpr unsigned has_both_zeros = 1;
inline constexpr unsigned has_nan = 2;
inline constexpr unsigned has_other_nan = 4;
unsigned unordered(masu::Dtype dtype, const void* data, std::uint64_t count) noexcept;

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// Converting one element at a time, for --verify and selftest: it shares no code with what it checks.
#pragma once

#include <masu/convert.h>

#include <cstdint>

namespace masu::cli {

// The bits of element i as `to`; false, and nothing, where it does not fit and that is an error.
bool reference_convert(const ArrayView& data, std::uint64_t i, Dtype to, Overflow overflow, Rounding rounding,
                       std::uint64_t& bits);

}  // namespace masu::cli

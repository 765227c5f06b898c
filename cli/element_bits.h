// SPDX-License-Identifier: Apache-2.0
// Single elements of any dtype.
#pragma once

#include <masu/dtype.h>

#include <cstdint>

namespace masu::cli {

// The bits of an element.
std::uint64_t bits_of(const ArrayView& data, std::uint64_t i);
// The bits of a number that the dtype, a float, holds exactly.
std::uint64_t bits_of(double value, Dtype dtype);
bool is_nan(const ArrayView& data, std::uint64_t i);

}  // namespace masu::cli

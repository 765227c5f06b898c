// SPDX-License-Identifier: Apache-2.0
// Elements as the kernels have them: what elements.cl needs, and how OpenCL C spells types.
#pragma once

#include "elements/dtypes.h"
#include "runtime/kernel_source.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace masu {

// The number of a class in kernels. 0: unsigned integers, 1: signed integers, 2: floats.
[[nodiscard]] constexpr unsigned element_class(Dtype dtype) noexcept {
  return is_float(dtype) ? 2 : is_signed(dtype) ? 1 : 0;
}

// The dtype of the same size and class, but for the sign of integers: where the sign does not matter, one program
// serves both.
[[nodiscard]] constexpr Dtype without_sign(Dtype dtype) noexcept {
  return is_float(dtype) ? dtype : *std::ranges::find_if(all_dtypes, [&](Dtype each) {
    return !is_signed(each) && size_of(each) == size_of(dtype);
  });
}

// The defines of elements.cl, and more of the caller's.
[[nodiscard]] inline std::vector<runtime::Define> element_defines(Dtype dtype, std::vector<runtime::Define> more) {
  more.push_back({"MASU_ELEMENT_BYTES", size_of(dtype)});
  more.push_back({"MASU_ELEMENT_CLASS", element_class(dtype)});
  more.push_back({"MASU_EXPONENT_BITS", detail::form_of(dtype).exponent_bits});
  return more;
}

// The type in which a kernel moves so many bytes.
[[nodiscard]] constexpr std::string_view unsigned_type(std::size_t bytes) noexcept {
  return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : bytes == 8 ? "ulong" : "uint4";
}

}  // namespace masu

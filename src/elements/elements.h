// SPDX-License-Identifier: Apache-2.0
// Elements as the kernels have them: what elements.cl needs, and how OpenCL C spells types.
#pragma once

#include "runtime/kernel_source.h"

#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace masu {

// 0: unsigned integers, 1: signed integers, 2: floats.
[[nodiscard]] constexpr unsigned element_class(Dtype dtype) noexcept {
  return is_float(dtype) ? 2 : is_signed(dtype) ? 1 : 0;
}

// The dtype of the same size and class, but for the sign of integers: where the sign does not matter, one program
// serves both.
[[nodiscard]] constexpr Dtype without_sign(Dtype dtype) noexcept {
  return is_float(dtype) ? dtype : static_cast<Dtype>(static_cast<unsigned>(dtype) & ~1U);
}

// The defines of elements.cl, and more of the caller's.
[[nodiscard]] inline std::vector<runtime::Define> element_defines(Dtype dtype, std::vector<runtime::Define> more) {
  more.push_back({"MASU_ELEMENT_BYTES", size_of(dtype)});
  more.push_back({"MASU_ELEMENT_CLASS", element_class(dtype)});
  return more;
}

// The type in which a kernel moves so many bytes.
[[nodiscard]] constexpr std::string_view unsigned_type(std::size_t bytes) noexcept {
  return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : bytes == 8 ? "ulong" : "uint4";
}

// How kernels compute with a dtype: the type, and what turns bits into it. f16 is computed with as float.
struct ValueType {
  std::string_view name;
  std::string_view from_bits;
};
[[nodiscard]] constexpr ValueType value_type(Dtype dtype) noexcept {
  constexpr std::array<ValueType, 11> types{{{"uchar", "(uchar)"},
                                             {"char", "(char)"},
                                             {"ushort", "(ushort)"},
                                             {"short", "(short)"},
                                             {"uint", "(uint)"},
                                             {"int", "as_int"},
                                             {"ulong", "(ulong)"},
                                             {"long", "as_long"},
                                             {"float", "masu_half_value"},
                                             {"float", "as_float"},
                                             {"double", "as_double"}}};
  return types[static_cast<std::size_t>(dtype)];
}

}  // namespace masu

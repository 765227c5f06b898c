// SPDX-License-Identifier: Apache-2.0
// f(U8, std::uint8_t) and so on for element types: where a name has to be made for each.
#pragma once

#include <masu/dtype.h>

#include <cstdint>

#define MASU_EACH_WIDE_INTEGER(f) f(U32, std::uint32_t) f(I32, std::int32_t) f(U64, std::uint64_t) f(I64, std::int64_t)
#define MASU_EACH_INTEGER(f) \
  f(U8, std::uint8_t) f(I8, std::int8_t) f(U16, std::uint16_t) f(I16, std::int16_t) MASU_EACH_WIDE_INTEGER(f)
#define MASU_EACH_WIDE_FLOAT(f) f(F32, float) f(F64, double)
#define MASU_EACH_STORED_FLOAT(f) f(F16, ::masu::Half) f(BF16, ::masu::Bfloat16)
#define MASU_EACH_FLOAT(f) MASU_EACH_STORED_FLOAT(f) MASU_EACH_WIDE_FLOAT(f)

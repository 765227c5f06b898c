// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/dtype.h>

#include <array>

namespace masu::test {

inline constexpr std::array all_dtypes = {Dtype::u8,  Dtype::i8,  Dtype::u16, Dtype::i16, Dtype::u32, Dtype::i32,
                                          Dtype::u64, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64};

}  // namespace masu::test

// SPDX-License-Identifier: Apache-2.0
// What the functions over CUB have in common, for code that nvcc does not compile.
#pragma once

#include <string>

namespace masu::bench {

enum class CubType { u8, u16, u32, i32, u64, i64, f16, f32, f64 };

std::string cub_version();

}  // namespace masu::bench

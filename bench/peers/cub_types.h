// SPDX-License-Identifier: Apache-2.0
// What the functions over CUB have in common, for code that nvcc does not compile.
#pragma once

#include <string>

namespace masu::bench {

enum class CubType { u8, u16, u32, i32, u64, i64, f16, f32, f64 };

std::string cub_version();
bool cub_keeps_to_its_tables();  // with very many bins: from 3.6 on (NVIDIA/cccl#9559)

}  // namespace masu::bench

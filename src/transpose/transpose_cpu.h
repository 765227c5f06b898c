// SPDX-License-Identifier: Apache-2.0
// Transposing on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace masu {

// `out` may be `in` where rows == columns. Elements of 1 to 64 bytes.
void transpose_cpu(const void* in, void* out, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns);

}  // namespace masu

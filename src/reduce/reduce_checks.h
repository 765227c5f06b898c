// SPDX-License-Identifier: Apache-2.0
// Checks that the public functions and the accumulator share.
#pragma once

#include <masu/buffer.h>
#include <masu/dtype.h>

#include <cstdint>
#include <string>

namespace masu {

inline constexpr std::uint64_t reduce_most_elements = std::uint64_t{1} << 48;  // so that sizes in bytes never wrap

[[noreturn]] void refuse_reduce(const std::string& rule);

// The elements of a buffer. Throws invalid_argument unless it holds a whole number of them.
std::uint64_t reduce_elements_of(const BufferBase& data, Dtype dtype);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Converting on the CPU, and on an OpenCL or CUDA device.
#pragma once

#include "convert/convert_plan.h"

#include <masu/stream.h>
#include <cstddef>
#include <cstdint>

namespace masu {

inline constexpr std::uint64_t no_position = ~std::uint64_t{0};

// Converts `count` elements by the rule; the first position of what does not fit, or no_position. The memories do not
// overlap.
std::uint64_t convert_cpu(const ConvertRule& rule, const void* in, void* out, std::uint64_t count);

// Converting on an OpenCL or CUDA device.

// Queues the conversion of `count` elements. `found`, where rule.overflow is error: plan.workspace() bytes, into which
// each work-group writes the first position of what does not fit (2^64 - 1: there is none) and the element. `status`,
// where not null, gets the first of them, counted from `first_position` on.
Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found,
                        const BufferBase* status = nullptr, std::uint64_t first_position = 0);

// Converting a few thousand elements, with the widest vectors of this processor.

// At most so many elements at a time.
inline constexpr std::size_t convert_block = 2048;

// Whether there is a fast way for the rule.
bool has_fast_way(const ConvertRule& rule) noexcept;
// Converts `count` elements; true: something did not fit. Where rule.overflow is wrap, that is never told.
bool convert_fast(const ConvertRule& rule, const void* in, void* out, std::size_t count) noexcept;

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Converting on an OpenCL or CUDA device.
#pragma once

#include "convert/convert_plan.h"
#include "convert/convert_rule.h"

#include <masu/stream.h>

#include <cstdint>

namespace masu {

// Queues the conversion of `count` elements. `found`, where rule.overflow is error: plan.workspace() bytes, into which
// each work-group writes the first position of what does not fit (2^64 - 1: there is none) and the element. `status`,
// where not null, gets the first of them, counted from `first_position` on.
Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found,
                        const BufferBase* status = nullptr, std::uint64_t first_position = 0);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#include "search/search_device.h"

#include "runtime/backend.h"
#include "runtime/whole.h"

#include <span>
#include <vector>

namespace masu {

Event search_on_device(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                       const BufferBase& positions, Dtype position_dtype, Side side, const search_plan::Plan& plan) {
  const auto program = runtime::own_program(*stream.device().implementation(), std::span(&search_plan::file, 1),
                                            plan.defines(dtype, position_dtype, side));
  const std::vector<KernelArgument> arguments{whole(sorted),
                                              sorted.byte_offset(),
                                              std::uint64_t{sorted.size_bytes() / size_of(dtype)},
                                              whole(values),
                                              values.byte_offset(),
                                              std::uint64_t{values.size_bytes() / size_of(dtype)},
                                              whole(positions),
                                              positions.byte_offset(),
                                              std::uint32_t{plan.tree.levels},
                                              std::uint32_t{plan.tree.shift},
                                              LocalMemory{static_cast<std::size_t>(plan.local_bytes())}};
  const NDRange range(plan.groups * plan.group, plan.group);
  return Event(stream.implementation().launch(*program->kernel("search_sorted"), range, arguments));
}

}  // namespace masu

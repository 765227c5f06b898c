// SPDX-License-Identifier: Apache-2.0
#include "search/search_device.h"

#include "call/launcher.h"

namespace masu {

Event search_on_device(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                       const BufferBase& positions, Dtype position_dtype, const SearchOptions& options,
                       const search_plan::Plan& plan) {
  call::Kernels kernels(stream.device(), search_plan::files, plan.defines(dtype, position_dtype, options), plan.group);
  return kernels.launch(stream, "search_sorted", plan.groups, sorted, sorted.size_bytes() / size_of(dtype), values,
                        values.size_bytes() / size_of(dtype), positions, std::uint32_t{plan.tree.levels},
                        std::uint32_t{plan.tree.shift}, call::local<std::byte>(plan.local_bytes()));
}

}  // namespace masu

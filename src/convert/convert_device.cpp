// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_device.h"

#include "call/launcher.h"

namespace masu {

Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found,
                        const BufferBase* status, std::uint64_t first_position) {
  call::Kernels kernels(stream.device(), convert_plan::files, plan.defines(rule), plan.group);
  Event converted = kernels.launch(stream, "convert_elements", plan.groups, in, out, count, plan.head, plan.vectors,
                                   found != nullptr ? *found : in, LocalMemory{convert_plan::local_bytes});
  if (found != nullptr && status != nullptr) {
    kernels.launch(stream, "first_note", 1, *found, static_cast<std::uint32_t>(plan.groups), first_position, *status,
                   LocalMemory{convert_plan::local_bytes});
  }
  return converted;
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_device.h"

#include "call/launcher.h"

namespace masu {

Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found) {
  call::Kernels kernels(stream.device(), convert_plan::files, plan.defines(rule), plan.group);
  return kernels.launch(stream, "convert_elements", plan.groups, in, out, count, plan.head, plan.vectors,
                        found != nullptr ? *found : in, LocalMemory{convert_plan::local_bytes});
}

}  // namespace masu

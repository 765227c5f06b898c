// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_device.h"

#include "runtime/backend.h"
#include "runtime/whole.h"

#include <vector>

namespace masu {

Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found) {
  const auto program = runtime::own_program(*stream.device().implementation(), convert_plan::files, plan.defines(rule));
  const BufferBase& notes = found != nullptr ? *found : in;
  const std::vector<KernelArgument> arguments{
      whole(in), in.byte_offset(), whole(out),   out.byte_offset(),   count,
      plan.head, plan.vectors,     whole(notes), notes.byte_offset(), LocalMemory{convert_plan::local_bytes}};
  const NDRange range(plan.groups * plan.group, plan.group);
  return Event(stream.implementation().launch(*program->kernel("convert_elements"), range, arguments));
}

}  // namespace masu

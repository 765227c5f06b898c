// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/memory.h"

#include <fmt/format.h>

#include "backends/opencl/error.h"

#include <algorithm>

namespace masu::opencl {

Handle<cl_mem> Memory::view(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) const {
  // Memory of the caller's may itself be a part of another object, and parts of parts do not exist.
  cl_mem parent = nullptr;
  std::size_t parent_offset = 0;
  api().clGetMemObjectInfo(get(), CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, nullptr);
  api().clGetMemObjectInfo(get(), CL_MEM_OFFSET, sizeof(parent_offset), &parent_offset, nullptr);
  if (parent == nullptr) parent_offset = 0;
  if ((offset + parent_offset) % alignment != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("Kernel::launch: a sub-view given to an OpenCL kernel must start at a multiple of {} bytes, "
                    "got {}",
                    alignment, offset));
  }
  const cl_buffer_region region{offset + parent_offset,
                                std::max<std::uint64_t>(1, std::min(bytes, this->bytes() - offset))};
  cl_int code = CL_SUCCESS;
  Handle<cl_mem> part(
      api().clCreateSubBuffer(parent != nullptr ? parent : get(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  if (code != CL_SUCCESS) fail(code, "Kernel::launch", fmt::format("a view of {} bytes", bytes), "clCreateSubBuffer");
  return part;
}

}  // namespace masu::opencl

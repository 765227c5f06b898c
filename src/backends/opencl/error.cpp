// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/error.h"

#include <fmt/format.h>

namespace masu::opencl {
namespace {

struct Entry {
  cl_int code;
  std::string_view name;
  ErrorCode meaning = ErrorCode::invalid_argument;
};

#define MASU_CL(name) name, #name
constexpr Entry entries[] = {
    {MASU_CL(CL_DEVICE_NOT_FOUND), ErrorCode::unsupported},
    {MASU_CL(CL_DEVICE_NOT_AVAILABLE), ErrorCode::device_lost},
    {MASU_CL(CL_COMPILER_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE), ErrorCode::out_of_memory},
    {MASU_CL(CL_OUT_OF_RESOURCES), ErrorCode::device_lost},
    {MASU_CL(CL_OUT_OF_HOST_MEMORY), ErrorCode::out_of_memory},
    {MASU_CL(CL_PROFILING_INFO_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_MEM_COPY_OVERLAP)},
    {MASU_CL(CL_IMAGE_FORMAT_MISMATCH)},
    {MASU_CL(CL_IMAGE_FORMAT_NOT_SUPPORTED), ErrorCode::unsupported},
    {MASU_CL(CL_BUILD_PROGRAM_FAILURE), ErrorCode::build_failed},
    {MASU_CL(CL_MAP_FAILURE), ErrorCode::out_of_memory},
    {MASU_CL(CL_MISALIGNED_SUB_BUFFER_OFFSET)},
    {MASU_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), ErrorCode::device_lost},
    {MASU_CL(CL_COMPILE_PROGRAM_FAILURE), ErrorCode::build_failed},
    {MASU_CL(CL_LINKER_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_LINK_PROGRAM_FAILURE), ErrorCode::build_failed},
    {MASU_CL(CL_DEVICE_PARTITION_FAILED), ErrorCode::unsupported},
    {MASU_CL(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), ErrorCode::unsupported},
    {MASU_CL(CL_INVALID_VALUE)},
    {MASU_CL(CL_INVALID_DEVICE_TYPE)},
    {MASU_CL(CL_INVALID_PLATFORM)},
    {MASU_CL(CL_INVALID_DEVICE)},
    {MASU_CL(CL_INVALID_CONTEXT)},
    {MASU_CL(CL_INVALID_QUEUE_PROPERTIES)},
    // A queue that this library made turns invalid when a kernel has broken its device.
    {MASU_CL(CL_INVALID_COMMAND_QUEUE), ErrorCode::device_lost},
    {MASU_CL(CL_INVALID_HOST_PTR)},
    {MASU_CL(CL_INVALID_MEM_OBJECT)},
    {MASU_CL(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)},
    {MASU_CL(CL_INVALID_IMAGE_SIZE)},
    {MASU_CL(CL_INVALID_SAMPLER)},
    {MASU_CL(CL_INVALID_BINARY)},
    {MASU_CL(CL_INVALID_BUILD_OPTIONS), ErrorCode::build_failed},
    {MASU_CL(CL_INVALID_PROGRAM)},
    {MASU_CL(CL_INVALID_PROGRAM_EXECUTABLE)},
    {MASU_CL(CL_INVALID_KERNEL_NAME)},
    {MASU_CL(CL_INVALID_KERNEL_DEFINITION)},
    {MASU_CL(CL_INVALID_KERNEL)},
    {MASU_CL(CL_INVALID_ARG_INDEX)},
    {MASU_CL(CL_INVALID_ARG_VALUE)},
    {MASU_CL(CL_INVALID_ARG_SIZE)},
    {MASU_CL(CL_INVALID_KERNEL_ARGS)},
    {MASU_CL(CL_INVALID_WORK_DIMENSION)},
    {MASU_CL(CL_INVALID_WORK_GROUP_SIZE)},
    {MASU_CL(CL_INVALID_WORK_ITEM_SIZE)},
    {MASU_CL(CL_INVALID_GLOBAL_OFFSET)},
    {MASU_CL(CL_INVALID_EVENT_WAIT_LIST)},
    {MASU_CL(CL_INVALID_EVENT)},
    {MASU_CL(CL_INVALID_OPERATION)},
    {MASU_CL(CL_INVALID_GL_OBJECT)},
    {MASU_CL(CL_INVALID_BUFFER_SIZE), ErrorCode::out_of_memory},
    {MASU_CL(CL_INVALID_MIP_LEVEL)},
    {MASU_CL(CL_INVALID_GLOBAL_WORK_SIZE)},
    {MASU_CL(CL_INVALID_PROPERTY)},
    {MASU_CL(CL_INVALID_IMAGE_DESCRIPTOR)},
    {MASU_CL(CL_INVALID_COMPILER_OPTIONS), ErrorCode::build_failed},
    {MASU_CL(CL_INVALID_LINKER_OPTIONS), ErrorCode::build_failed},
    {MASU_CL(CL_INVALID_DEVICE_PARTITION_COUNT)},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", ErrorCode::unsupported},
    // NVIDIA's code for an illegal access by a kernel.
    {-9999, "NVIDIA error -9999 (illegal memory access)", ErrorCode::device_lost},
};
#undef MASU_CL

const Entry* find(cl_int code) noexcept {
  for (const Entry& entry : entries) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string error_name(cl_int code) {
  const Entry* entry = find(code);
  return entry != nullptr ? std::string(entry->name) : fmt::format("OpenCL error {}", code);
}

ErrorCode error_code(cl_int code) noexcept {
  const Entry* entry = find(code);
  return entry != nullptr ? entry->meaning : ErrorCode::device_lost;
}

void fail(cl_int code, std::string_view function, std::string_view device, std::string_view what) {
  throw Error(error_code(code), fmt::format("{}: {}: {} failed with {}", function, device, what, error_name(code)));
}

}  // namespace masu::opencl

// SPDX-License-Identifier: Apache-2.0
// What a driver tells of a kernel's parameters.
#include "backends/opencl/error.h"
#include "backends/opencl/module.h"

#include <algorithm>
#include <array>

namespace masu::opencl {
namespace {

std::string text_of(cl_kernel kernel, cl_uint index, cl_kernel_arg_info which) {
  std::size_t size = 0;
  if (api().clGetKernelArgInfo(kernel, index, which, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (api().clGetKernelArgInfo(kernel, index, which, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.substr(0, text.find('\0'));
}

// Types of OpenCL C that are passed as handles.
bool is_handle(std::string_view type) {
  constexpr std::array<std::string_view, 5> starts{"image", "sampler_t", "pipe", "queue_t", "reserve_id_t"};
  return std::ranges::any_of(starts, [type](std::string_view start) { return type.find(start) == 0; });
}

KernelParameter::Kind kind_of(cl_kernel_arg_address_qualifier qualifier, std::string_view type) {
  if (is_handle(type)) return KernelParameter::Kind::other;
  switch (qualifier) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
    case CL_KERNEL_ARG_ADDRESS_CONSTANT: return KernelParameter::Kind::buffer;
    case CL_KERNEL_ARG_ADDRESS_LOCAL: return KernelParameter::Kind::local;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE: return KernelParameter::Kind::value;
    default: return KernelParameter::Kind::other;
  }
}

}  // namespace

std::vector<KernelParameter> told_parameters(cl_kernel kernel, const Limits& limits) {
  cl_uint count = 0;
  check(api().clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr), "Program::kernel", limits.id,
        "clGetKernelInfo");
  std::vector<KernelParameter> parameters(count);
  for (cl_uint i = 0; i < count; ++i) {
    cl_kernel_arg_address_qualifier qualifier = 0;
    if (api().clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier), &qualifier, nullptr) !=
        CL_SUCCESS) {
      continue;
    }
    parameters[i].type = text_of(kernel, i, CL_KERNEL_ARG_TYPE_NAME);
    parameters[i].name = text_of(kernel, i, CL_KERNEL_ARG_NAME);
    parameters[i].kind = kind_of(qualifier, parameters[i].type);
  }
  return parameters;
}

}  // namespace masu::opencl

// SPDX-License-Identifier: Apache-2.0
// A context, a queue, a program and a kernel made through OpenCL's own functions, as a program without masu makes them.
#pragma once

#include <masu/device.h>

#include "backends/opencl/api.h"

#include <array>
#include <cstddef>
#include <string>

namespace masu::vocabulary {

inline void must(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw Error(ErrorCode::unsupported, what + (": " + opencl::error_name(code)));
}

struct OpenClObjects {
  OpenClObjects(const Device& device, const std::string& text, const char* kernel_name, const char* options = "") {
    const opencl::Api& cl = opencl::api();
    auto id = static_cast<cl_device_id>(device.native_device());
    cl_platform_id platform = nullptr;
    must(cl.clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr), "clGetDeviceInfo");
    const std::array<cl_context_properties, 3> properties{CL_CONTEXT_PLATFORM,
                                                          reinterpret_cast<cl_context_properties>(platform), 0};
    cl_int code = CL_SUCCESS;
    context = opencl::Handle<cl_context>(cl.clCreateContext(properties.data(), 1, &id, nullptr, nullptr, &code));
    must(code, "clCreateContext");
    queue =
        opencl::Handle<cl_command_queue>(cl.clCreateCommandQueue(context.get(), id, CL_QUEUE_PROFILING_ENABLE, &code));
    must(code, "clCreateCommandQueue");
    const char* source = text.c_str();
    program = opencl::Handle<cl_program>(cl.clCreateProgramWithSource(context.get(), 1, &source, nullptr, &code));
    must(code, "clCreateProgramWithSource");
    build_code = cl.clBuildProgram(program.get(), 1, &id, options, nullptr, nullptr);
    std::size_t size = 0;
    must(cl.clGetProgramBuildInfo(program.get(), id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size), "clGetProgramBuildInfo");
    log.resize(size);
    must(cl.clGetProgramBuildInfo(program.get(), id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr),
         "clGetProgramBuildInfo");
    if (build_code != CL_SUCCESS) return;
    kernel = opencl::Handle<cl_kernel>(cl.clCreateKernel(program.get(), kernel_name, &code));
    must(code, "clCreateKernel");
  }

  // A buffer of this context with some content.
  [[nodiscard]] opencl::Handle<cl_mem> buffer(std::size_t bytes, void* content) const {
    cl_int code = CL_SUCCESS;
    opencl::Handle<cl_mem> memory(
        opencl::api().clCreateBuffer(context.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, content, &code));
    must(code, "clCreateBuffer");
    return memory;
  }

  opencl::Handle<cl_context> context;
  opencl::Handle<cl_command_queue> queue;
  opencl::Handle<cl_program> program;
  opencl::Handle<cl_kernel> kernel;  // none where the program does not build
  cl_int build_code = CL_SUCCESS;
  std::string log;
};

}  // namespace masu::vocabulary

// SPDX-License-Identifier: Apache-2.0
// How OpenCL is called: its functions, opened at run time (masu does not link it), owners of its objects, and its error
// codes as masu::Error. Only functions of OpenCL 1.2 are required.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <masu/error.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace masu::opencl {

// Every function that masu calls.
#define MASU_OPENCL_FUNCTIONS(F)  \
  F(clBuildProgram)               \
  F(clCreateBuffer)               \
  F(clCreateCommandQueue)         \
  F(clCreateContext)              \
  F(clCreateKernel)               \
  F(clCreateProgramWithBinary)    \
  F(clCreateProgramWithSource)    \
  F(clCreateSubBuffer)            \
  F(clEnqueueBarrierWithWaitList) \
  F(clEnqueueCopyBuffer)          \
  F(clEnqueueFillBuffer)          \
  F(clEnqueueMapBuffer)           \
  F(clEnqueueMarkerWithWaitList)  \
  F(clEnqueueNDRangeKernel)       \
  F(clEnqueueReadBuffer)          \
  F(clEnqueueUnmapMemObject)      \
  F(clEnqueueWriteBuffer)         \
  F(clFinish)                     \
  F(clFlush)                      \
  F(clGetCommandQueueInfo)        \
  F(clGetDeviceIDs)               \
  F(clGetDeviceInfo)              \
  F(clGetEventInfo)               \
  F(clGetEventProfilingInfo)      \
  F(clGetKernelArgInfo)           \
  F(clGetKernelInfo)              \
  F(clGetKernelWorkGroupInfo)     \
  F(clGetMemObjectInfo)           \
  F(clGetPlatformIDs)             \
  F(clGetPlatformInfo)            \
  F(clGetProgramBuildInfo)        \
  F(clGetProgramInfo)             \
  F(clReleaseCommandQueue)        \
  F(clReleaseContext)             \
  F(clReleaseEvent)               \
  F(clReleaseKernel)              \
  F(clReleaseMemObject)           \
  F(clReleaseProgram)             \
  F(clRetainCommandQueue)         \
  F(clRetainContext)              \
  F(clRetainMemObject)            \
  F(clSetKernelArg)               \
  F(clWaitForEvents)

struct Api {
#define MASU_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  MASU_OPENCL_FUNCTIONS(MASU_OPENCL_MEMBER)
#undef MASU_OPENCL_MEMBER
};

struct Library {
  Api api;
  std::string why;      // why it cannot be used; empty when it can
  bool forked = false;  // this process is a child of the one that opened it
};

// Opens the library at the first call. Never throws for what is missing.
const Library& library();

// The functions. Only for code that holds an OpenCL object, so that the library is known to be there.
inline const Api& api() {
  return library().api;
}

struct Release {
  void operator()(cl_context object) const noexcept { api().clReleaseContext(object); }
  void operator()(cl_command_queue object) const noexcept { api().clReleaseCommandQueue(object); }
  void operator()(cl_mem object) const noexcept { api().clReleaseMemObject(object); }
  void operator()(cl_event object) const noexcept { api().clReleaseEvent(object); }
  void operator()(cl_program object) const noexcept { api().clReleaseProgram(object); }
  void operator()(cl_kernel object) const noexcept { api().clReleaseKernel(object); }
};

// One reference to an object.
template <class T>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Release>;

// The text that one of the functions clGet…Info gives of an object; empty where it gives none.
template <class Ask, class... Of>
std::string info_text(Ask ask, Of... of) {
  std::size_t size = 0;
  if (ask(of..., 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (ask(of..., size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.substr(0, text.find('\0'));
}

// "CL_INVALID_VALUE"; "OpenCL error -9999" for a code that is not in the standard.
std::string error_name(cl_int code);

// What a code means, unless the caller knows better.
ErrorCode error_code(cl_int code) noexcept;

// "FUNCTION: DEVICE: WHAT failed with CL_…".
[[noreturn]] void fail(cl_int code, std::string_view function, std::string_view device, std::string_view what);

inline void check(cl_int code, std::string_view function, std::string_view device, std::string_view what) {
  if (code != CL_SUCCESS) fail(code, function, device, what);
}

// Compilers' messages with the lines that the source gives itself.

// NVIDIA's compiler (580, 2026-11) counts lines from the start of the text, as "<kernel>:LINE", whatever `#line` says;
// that of Oclgrind 21.10 does so too, as "input.cl:LINE". `marker` is what stands before LINE.
// Puts in the file and the line that the directives of `source` mean; a line before the first of them stays as it is.
std::string with_presumed_lines(std::string_view log, std::string_view source, std::string_view marker = "<kernel>:");

// The log without messages that are no warnings: NVIDIA's (580, 2026-11) that a kernel may be inlined, Intel's (2021 to
// 2026) about its steps and what it vectorised.
std::string without_noise(std::string_view log);

}  // namespace masu::opencl

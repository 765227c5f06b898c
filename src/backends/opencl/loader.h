// SPDX-License-Identifier: Apache-2.0
// The OpenCL library, opened at run time; masu does not link it. Only functions of OpenCL 1.2 are required.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <string>

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
  std::string why;  // why it cannot be used; empty when it can
};

// Opens the library at the first call. Never throws for what is missing.
const Library& library();

// The functions. Only for code that holds an OpenCL object, so that the library is known to be there.
inline const Api& api() {
  return library().api;
}

}  // namespace masu::opencl

// SPDX-License-Identifier: Apache-2.0
#include "launch_vendor.h"

#include "backends/cuda/driver_api.h"
#include "backends/cuda/module.h"
#include "backends/opencl/api.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::string_view opencl_text = R"(
kernel void work(global const float* a, global const float* b, global float* c, const uint n, const float factor,
                 local float* shared) {
  const size_t i = get_global_id(0);
  const size_t own = get_local_id(0);
  if (i < n) shared[own] = factor * (a[i] + b[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) c[i] = shared[get_local_size(0) - 1 - own];
}
)";

constexpr std::string_view cuda_text = R"(
extern "C" __global__ void work(const float* a, const float* b, float* c, const unsigned n, const float factor) {
  extern __shared__ float shared[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) shared[threadIdx.x] = factor * (a[i] + b[i]);
  __syncthreads();
  if (i < n) c[i] = shared[blockDim.x - 1 - threadIdx.x];
}
)";

void expect(int code, const char* what) {
  if (code != 0) throw std::runtime_error(fmt::format("{} failed with {}", what, code));
}

std::vector<float> numbers(float step) {
  std::vector<float> values(LaunchCase::count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(i);
  return values;
}

class OpenCl final : public Vendor {
 public:
  explicit OpenCl(const LaunchCase& what) : buffers_{memory(what.a), memory(what.b), memory(what.c)} {
    auto* const context = static_cast<cl_context>(what.device.native_context());
    auto* const device = static_cast<cl_device_id>(what.device.native_device());
    cl_int code = CL_SUCCESS;
    for (const bool timed : {false, true}) {
      queues_[timed ? 1 : 0] = api_.clCreateCommandQueue(context, device, timed ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
      expect(code, "clCreateCommandQueue");
    }
    const char* text = opencl_text.data();
    const std::size_t size = opencl_text.size();
    program_ = api_.clCreateProgramWithSource(context, 1, &text, &size, &code);
    expect(code, "clCreateProgramWithSource");
    expect(api_.clBuildProgram(program_, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = api_.clCreateKernel(program_, "work", &code);
    expect(code, "clCreateKernel");
  }
  ~OpenCl() override {
    for (cl_command_queue queue : queues_) api_.clReleaseCommandQueue(queue);
    api_.clReleaseKernel(kernel_);
    api_.clReleaseProgram(program_);
  }
  OpenCl(const OpenCl&) = delete;
  OpenCl& operator=(const OpenCl&) = delete;

  void launch(Leaves leaves) override {
    const cl_uint n = LaunchCase::count;
    const cl_float factor = LaunchCase::factor;
    for (cl_uint i = 0; i < 3; ++i) expect(api_.clSetKernelArg(kernel_, i, sizeof(cl_mem), &buffers_[i]), "argument");
    expect(api_.clSetKernelArg(kernel_, 3, sizeof n, &n), "argument");
    expect(api_.clSetKernelArg(kernel_, 4, sizeof factor, &factor), "argument");
    expect(api_.clSetKernelArg(kernel_, 5, LaunchCase::local_bytes, nullptr), "argument");
    const std::size_t global = LaunchCase::count;
    const std::size_t local = LaunchCase::group;
    cl_event event = nullptr;
    cl_command_queue queue = queue_of(leaves);
    cl_event* const wanted = leaves == Leaves::nothing ? nullptr : &event;
    expect(api_.clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &global, &local, 0, nullptr, wanted),
           "clEnqueueNDRangeKernel");
    if (wanted == nullptr) return;
    expect(api_.clFlush(queue), "clFlush");
    expect(api_.clReleaseEvent(event), "clReleaseEvent");
  }
  void finish(Leaves leaves) override { expect(api_.clFinish(queue_of(leaves)), "clFinish"); }
  bool repeat(std::span<const test::NotedCommand> commands) override {
    for (const test::NotedCommand& command : commands) {
      // Parts of buffers are objects of their own.
      if (std::ranges::any_of(command.arguments, [](const auto& one) { return one.offset() != 0; })) return false;
    }
    for (const test::NotedCommand& command : commands) {
      if (command.kernel != nullptr) launch_again(command);
      else if (command.source != nullptr) copy_again(command);
      else fill_again(command);
    }
    return true;
  }

 private:
  void fill_again(const test::NotedCommand& fill) {
    expect(api_.clEnqueueFillBuffer(queues_[0], opencl::object_of(*fill.target), fill.pattern.data(),
                                    fill.pattern.size(), fill.target_offset, fill.bytes, 0, nullptr, nullptr),
           "clEnqueueFillBuffer");
  }
  void copy_again(const test::NotedCommand& copy) {
    expect(api_.clEnqueueCopyBuffer(queues_[0], opencl::object_of(*copy.source), opencl::object_of(*copy.target),
                                    copy.source_offset, copy.target_offset, copy.bytes, 0, nullptr, nullptr),
           "clEnqueueCopyBuffer");
  }
  void launch_again(const test::NotedCommand& launch) {
    cl_kernel kernel = twin(static_cast<opencl::Kernel&>(*launch.kernel));
    for (cl_uint i = 0; i < launch.arguments.size(); ++i) {
      const KernelArgument& argument = launch.arguments[i];
      const bool buffer = argument.kind() == KernelArgument::Kind::buffer;
      cl_mem object = buffer ? opencl::object_of(*argument.memory()) : nullptr;
      const void* value = argument.kind() == KernelArgument::Kind::local ? nullptr : argument.bytes();
      expect(api_.clSetKernelArg(kernel, i, buffer ? sizeof object : argument.size(), buffer ? &object : value),
             "clSetKernelArg");
    }
    expect(api_.clEnqueueNDRangeKernel(queues_[0], kernel, launch.range.dimensions, nullptr, launch.range.global.data(),
                                       launch.range.local.data(), 0, nullptr, nullptr),
           "clEnqueueNDRangeKernel");
  }
  // masu's kernels know what their arguments are set to.
  cl_kernel twin(const opencl::Kernel& kernel) {
    opencl::Handle<cl_kernel>& twin = twins_[kernel.get()];
    if (twin) return twin.get();
    cl_program program = nullptr;
    expect(api_.clGetKernelInfo(kernel.get(), CL_KERNEL_PROGRAM, sizeof program, &program, nullptr), "clGetKernelInfo");
    cl_int code = CL_SUCCESS;
    twin = opencl::Handle<cl_kernel>(api_.clCreateKernel(program, kernel.name().c_str(), &code));
    expect(code, "clCreateKernel");
    return twin.get();
  }
  cl_command_queue queue_of(Leaves leaves) const { return queues_[leaves == Leaves::time ? 1 : 0]; }
  static cl_mem memory(const BufferBase& buffer) { return static_cast<cl_mem>(buffer.native()); }
  const opencl::Api& api_ = opencl::api();
  std::array<cl_mem, 3> buffers_;
  std::array<cl_command_queue, 2> queues_{};
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::map<cl_kernel, opencl::Handle<cl_kernel>> twins_;
};

class Cuda final : public Vendor {
 public:
  explicit Cuda(const LaunchCase& what) : buffers_{address(what.a), address(what.b), address(what.c)} {
    expect(api_.ctx_push_current(static_cast<cuda::CUcontext>(what.device.native_context())), "cuCtxPushCurrent");
    int major = 0;
    int minor = 0;
    cuda::CUdevice device = 0;
    expect(api_.ctx_get_device(&device), "cuCtxGetDevice");
    expect(api_.device_get_attribute(&major, cuda::device_compute_capability_major, device), "cuDeviceGetAttribute");
    expect(api_.device_get_attribute(&minor, cuda::device_compute_capability_minor, device), "cuDeviceGetAttribute");
    const cuda::Compiled compiled = cuda::compile(cuda::nvrtc(), major * 10 + minor, cuda_text, "");
    expect(api_.module_load_data_ex(&module_, compiled.image.bytes.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
    expect(api_.module_get_function(&function_, module_, "work"), "cuModuleGetFunction");
    expect(api_.stream_create(&stream_, cuda::stream_non_blocking), "cuStreamCreate");
    for (cuda::CUevent& event : events_) expect(api_.event_create(&event, cuda::event_default), "cuEventCreate");
  }
  ~Cuda() override {
    for (cuda::CUevent event : events_) api_.event_destroy(event);
    api_.stream_destroy(stream_);
    api_.module_unload(module_);
    cuda::CUcontext popped = nullptr;
    api_.ctx_pop_current(&popped);
  }
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  void launch(Leaves leaves) override {
    unsigned n = LaunchCase::count;
    float factor = LaunchCase::factor;
    std::array<void*, 5> arguments{buffers_.data(), buffers_.data() + 1, buffers_.data() + 2, &n, &factor};
    if (leaves == Leaves::time) expect(api_.event_record(events_[0], stream_), "cuEventRecord");
    expect(api_.launch_kernel(function_, LaunchCase::count / LaunchCase::group, 1, 1, LaunchCase::group, 1, 1,
                              LaunchCase::local_bytes, stream_, arguments.data(), nullptr),
           "cuLaunchKernel");
    if (leaves != Leaves::nothing) expect(api_.event_record(events_[1], stream_), "cuEventRecord");
  }
  void finish(Leaves) override { expect(api_.stream_synchronize(stream_), "cuStreamSynchronize"); }
  bool repeat(std::span<const test::NotedCommand>) override { return false; }

 private:
  static cuda::CUdeviceptr address(const BufferBase& buffer) {
    return reinterpret_cast<cuda::CUdeviceptr>(buffer.native());
  }
  const cuda::Driver& api_ = cuda::driver().functions;
  std::array<cuda::CUdeviceptr, 3> buffers_;
  std::array<cuda::CUevent, 2> events_{};
  cuda::CUmodule module_ = nullptr;
  cuda::CUfunction function_ = nullptr;
  cuda::CUstream stream_ = nullptr;
};

}  // namespace

LaunchCase::LaunchCase(const Device& on)
    : device(on), a(on.upload(numbers(1))), b(on.upload(numbers(2))), c(on, count) {}

std::string_view LaunchCase::text() const {
  return device.kind() == DeviceKind::cuda ? cuda_text : opencl_text;
}

std::unique_ptr<Vendor> make_vendor(const LaunchCase& what) {
  if (what.device.kind() == DeviceKind::cuda) return std::make_unique<Cuda>(what);
  if (what.device.kind() == DeviceKind::opencl) return std::make_unique<OpenCl>(what);
  throw std::runtime_error(fmt::format("{} runs no kernels", what.device.id()));
}

}  // namespace masu::bench

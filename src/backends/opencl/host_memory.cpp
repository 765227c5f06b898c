// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/host_memory.h"

#include <fmt/format.h>

#include "backends/opencl/error.h"

#include <utility>

namespace masu::opencl {
namespace {

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

void HostRanges::add(const void* first, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ranges_[number(first)] = bytes;
}

void HostRanges::remove(const void* first) noexcept {
  const std::lock_guard lock(mutex_);
  ranges_.erase(number(first));
}

bool HostRanges::contain(const void* first, std::uint64_t bytes) const noexcept {
  const std::lock_guard lock(mutex_);
  auto range = ranges_.upper_bound(number(first));
  if (range == ranges_.begin()) return false;
  --range;
  const std::uint64_t offset = number(first) - range->first;
  return offset < range->second && bytes <= range->second - offset;
}

HostMemory::HostMemory(cl_context context, cl_device_id device, const DeviceInfo& info,
                       std::shared_ptr<HostRanges> ranges, std::uint64_t bytes)
    : ranges_(std::move(ranges)) {
  cl_int code = CL_SUCCESS;
  queue_ = Handle<cl_command_queue>(api().clCreateCommandQueue(context, device, 0, &code));
  check(code, "HostBuffer", info.id, "clCreateCommandQueue");
  const char* call = "clCreateBuffer";
  object_ =
      Handle<cl_mem>(api().clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code));
  if (code == CL_SUCCESS) {
    call = "clEnqueueMapBuffer";
    data_ = api().clEnqueueMapBuffer(queue_.get(), object_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                     nullptr, nullptr, &code);
  }
  if (code == CL_OUT_OF_RESOURCES || error_code(code) == ErrorCode::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("HostBuffer: {} must be able to give {} bytes of host memory, got {} of {}", info.id, bytes,
                            error_name(code), call));
  }
  check(code, "HostBuffer", info.id, call);
  ranges_->add(data_, bytes);
}

HostMemory::~HostMemory() {
  ranges_->remove(data_);
  api().clEnqueueUnmapMemObject(queue_.get(), object_.get(), data_, 0, nullptr, nullptr);
  api().clFinish(queue_.get());
}

}  // namespace masu::opencl

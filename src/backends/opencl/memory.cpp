// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/memory.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace masu::opencl {

Memory::View Memory::view(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_) {
    if (kept.offset == offset && kept.bytes == bytes) return {kept.object.get(), {}};
  }
  Handle<cl_mem> made = make_view(offset, bytes, alignment);
  cl_mem object = made.get();
  if (kept_.size() == most_kept) return {object, std::move(made)};
  kept_.push_back({offset, bytes, std::move(made)});
  return {object, {}};
}

Handle<cl_mem> Memory::make_view(std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment) const {
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

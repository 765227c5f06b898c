// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device.h"

#include <fmt/format.h>

#include "backends/opencl/error.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/platforms.h"
#include "backends/opencl/stream.h"
#include "runtime/kernel_source.h"

#include <algorithm>

namespace masu::opencl {
namespace {

constexpr cl_device_info device_non_uniform_work_group_support = 0x1065;  // of OpenCL 3.0

std::shared_ptr<const Limits> limits_of(cl_context context, cl_device_id device, const DeviceInfo& info) {
  auto limits = std::make_shared<Limits>();
  limits->context = context;
  limits->device = device;
  limits->id = info.id;
  limits->local_bytes = info.local_bytes;
  limits->view_alignment = std::max(1U, device_value<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 8) / 8);  // bits
  limits->item_sizes.resize(device_value<cl_uint>(device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 3));
  check(api().clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, limits->item_sizes.size() * sizeof(std::size_t),
                              limits->item_sizes.data(), nullptr),
        "Device::open", info.id, "clGetDeviceInfo");
  // OpenCL 2 has other groups wherever the program is compiled for it, OpenCL 3 where the device says so. There the
  // driver decides.
  const std::string version = device_text(device, CL_DEVICE_VERSION);
  const bool asked = !version.starts_with("OpenCL 1.") && !version.starts_with("OpenCL 2.");
  limits->uniform_groups =
      version.starts_with("OpenCL 1.") ||
      (asked && device_value<cl_bool>(device, device_non_uniform_work_group_support, CL_FALSE) == CL_FALSE);
  return limits;
}

}  // namespace

Device::Device(Handle<cl_context> context, cl_device_id device, DeviceInfo info)
    : context_(std::move(context)),
      device_(device),
      limits_(limits_of(context_.get(), device, info)),
      prelude_(runtime::own_program_text("", "src/backends/opencl/prelude.cl", {})) {
  info_ = std::move(info);
}

std::shared_ptr<runtime::Memory> Device::allocate(std::uint64_t bytes) {
  cl_int code = CL_OUT_OF_RESOURCES;
  Handle<cl_mem> object;
  if (bytes <= info_.memory_bytes) {  // some drivers find out only when the memory is used
    object = Handle<cl_mem>(api().clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
  }
  if (code == CL_OUT_OF_RESOURCES || error_code(code) == ErrorCode::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("allocate: {} bytes asked for, {} has {} bytes and gives at most {} at once ({})", bytes,
                            info_.id, info_.memory_bytes, info_.max_allocation_bytes, error_name(code)));
  }
  check(code, "allocate", info_.id, "clCreateBuffer");
  return std::make_shared<Memory>(context_.get(), std::move(object), bytes, false);
}

std::shared_ptr<runtime::Memory> Device::wrap_host(void* data, std::uint64_t bytes, bool read_only) {
  const cl_mem_flags flags = CL_MEM_USE_HOST_PTR | (read_only ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE);
  cl_int code = CL_SUCCESS;
  Handle<cl_mem> object(api().clCreateBuffer(context_.get(), flags, bytes, data, &code));
  if (error_code(code) == ErrorCode::out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("wrap_host: {} bytes asked for, {} has {} bytes and gives at most {} at once ({})", bytes,
                            info_.id, info_.memory_bytes, info_.max_allocation_bytes, error_name(code)));
  }
  check(code, "wrap_host", info_.id, "clCreateBuffer");
  return std::make_shared<Memory>(context_.get(), std::move(object), bytes, read_only);
}

std::shared_ptr<runtime::Memory> Device::wrap_native(void* handle, std::uint64_t bytes) {
  const auto object = static_cast<cl_mem>(handle);
  std::size_t size = 0;
  check(api().clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(size), &size, nullptr), "wrap_native", info_.id,
        "clGetMemObjectInfo");
  cl_context context = nullptr;
  check(api().clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof(context), &context, nullptr), "wrap_native", info_.id,
        "clGetMemObjectInfo");
  if (bytes > size) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("wrap_native: the cl_mem must hold the elements, got one of {} bytes for {}", size, bytes));
  }
  if (context != context_.get()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("wrap_native: the cl_mem must be of the context of {}, got one of another", info_.id));
  }
  check(api().clRetainMemObject(object), "wrap_native", info_.id, "clRetainMemObject");
  return std::make_shared<Memory>(context_.get(), Handle<cl_mem>(object), size, false);
}

std::shared_ptr<runtime::HostMemory> Device::allocate_host(std::uint64_t bytes) {
  return std::make_shared<HostMemory>(context_.get(), device_, info_, host_ranges_, bytes);
}

bool Device::is_page_locked(const void* data, std::uint64_t bytes) const noexcept {
  return host_ranges_->contain(data, bytes);
}

std::unique_ptr<runtime::Stream> Device::make_stream(Timing timing) {
  cl_int code = CL_SUCCESS;
  const cl_command_queue_properties properties = timing == Timing::on ? CL_QUEUE_PROFILING_ENABLE : 0;
  Handle<cl_command_queue> queue(api().clCreateCommandQueue(context_.get(), device_, properties, &code));
  check(code, "Stream", info_.id, "clCreateCommandQueue");
  return std::make_unique<Stream>(context_.get(), std::move(queue), info_, queues_);
}

std::unique_ptr<runtime::Stream> Device::wrap_stream(void* native, Timing /*timing*/) {
  const auto queue = static_cast<cl_command_queue>(native);
  if (queue == nullptr) {
    throw Error(ErrorCode::invalid_argument, "Stream::wrap: a cl_command_queue must not be null, got null");
  }
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue_properties properties = 0;
  for (const cl_int code :
       {api().clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, nullptr),
        api().clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr),
        api().clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, nullptr)}) {
    check(code, "Stream::wrap", info_.id, "clGetCommandQueueInfo");
  }
  if (context != context_.get() || device != device_) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("Stream::wrap: the queue must be of {} in its context, got one of another", info_.id));
  }
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    throw Error(ErrorCode::invalid_argument, "Stream::wrap: the queue must be in order, got an out-of-order one");
  }
  check(api().clRetainCommandQueue(queue), "Stream::wrap", info_.id, "clRetainCommandQueue");
  return std::make_unique<Stream>(context_.get(), Handle<cl_command_queue>(queue), info_, queues_);
}

void Device::synchronize() {
  queues_->finish(info_.id);
}

std::shared_ptr<runtime::Module> Device::compile(std::string_view text, std::string_view options) {
  return build_source(limits_, text, options);
}

std::shared_ptr<runtime::Module> Device::load(std::string_view binary) {
  return build_binary(limits_, binary);
}

std::string Device::cache_identity() const {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", info_.name, info_.vendor, info_.driver, info_.architecture,
                     device_text(device_, CL_DEVICE_VERSION), device_text(device_, CL_DEVICE_EXTENSIONS));
}

}  // namespace masu::opencl

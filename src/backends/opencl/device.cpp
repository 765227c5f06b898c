// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device.h"

#include "backends/opencl/memory.h"
#include "backends/opencl/module.h"
#include "runtime/kernel_source.h"

#include <masu/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

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

class Device final : public runtime::Device {
 public:
  // Takes over one reference of the context.
  Device(Handle<cl_context> context, cl_device_id device, DeviceInfo info)
      : context_(std::move(context)),
        device_(device),
        limits_(limits_of(context_.get(), device, info)),
        prelude_(runtime::own_program_text("", "src/backends/opencl/prelude.cl", {})) {
    info_ = std::move(info);
  }
  ~Device() override { release_kept(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] void* native_context() const noexcept override { return context_.get(); }
  [[nodiscard]] void* native_device() const noexcept override { return device_; }
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override {
    return make_memory("allocate", CL_MEM_READ_WRITE, nullptr, bytes);
  }
  std::shared_ptr<runtime::Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) override {
    return make_memory("wrap_host", CL_MEM_USE_HOST_PTR | (read_only ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE), data,
                       bytes);
  }
  std::shared_ptr<runtime::Memory> wrap_native(void* handle, std::uint64_t bytes) override {
    const auto object = static_cast<cl_mem>(handle);
    std::size_t size = 0;
    check(api().clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(size), &size, nullptr), "wrap_native", info_.id,
          "clGetMemObjectInfo");
    cl_context context = nullptr;
    check(api().clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof(context), &context, nullptr), "wrap_native", info_.id,
          "clGetMemObjectInfo");
    if (bytes > size) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("wrap_native: the cl_mem must hold the elements, got one of {} bytes for {}", size, bytes));
    }
    if (context != context_.get()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("wrap_native: the cl_mem must be of the context of {}, got one of another", info_.id));
    }
    check(api().clRetainMemObject(object), "wrap_native", info_.id, "clRetainMemObject");
    return std::make_shared<Memory>(context_.get(), Handle<cl_mem>(object), size, false);
  }
  std::shared_ptr<runtime::HostMemory> allocate_host(std::uint64_t bytes) override {
    return std::make_shared<HostMemory>(context_.get(), device_, info_, host_ranges_, bytes);
  }
  [[nodiscard]] bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept override {
    return host_ranges_->contain(data, bytes);
  }
  std::unique_ptr<runtime::Stream> make_stream(Timing timing) override {
    cl_int code = CL_SUCCESS;
    const cl_command_queue_properties properties = timing == Timing::on ? CL_QUEUE_PROFILING_ENABLE : 0;
    Handle<cl_command_queue> queue(api().clCreateCommandQueue(context_.get(), device_, properties, &code));
    check(code, "Stream", info_.id, "clCreateCommandQueue");
    return opencl::make_stream(context_.get(), std::move(queue), info_, queues_);
  }
  std::unique_ptr<runtime::Stream> wrap_stream(void* native, Timing /*timing*/) override {
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
    return opencl::make_stream(context_.get(), Handle<cl_command_queue>(queue), info_, queues_);
  }
  void synchronize() override { queues_->finish(info_.id); }
  std::shared_ptr<runtime::Module> compile(std::string_view text, std::string_view options) override {
    return build_source(limits_, text, options);
  }
  std::shared_ptr<runtime::Module> load(std::string_view binary) override { return build_binary(limits_, binary); }
  [[nodiscard]] std::string cache_identity() const override {
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", info_.name, info_.vendor, info_.driver, info_.architecture,
                       device_text(device_, CL_DEVICE_VERSION), device_text(device_, CL_DEVICE_EXTENSIONS));
  }
  [[nodiscard]] std::string_view prelude() const noexcept override { return prelude_; }
  [[nodiscard]] std::string_view kernel_options() const noexcept override { return "-cl-std=CL1.2"; }

 private:
  std::shared_ptr<Memory> make_memory(const char* function, cl_mem_flags flags, void* data, std::uint64_t bytes) {
    cl_int code = CL_OUT_OF_RESOURCES;
    Handle<cl_mem> object;
    if (data != nullptr || bytes <= info_.memory_bytes) {  // some drivers find out only when the memory is used
      object = Handle<cl_mem>(api().clCreateBuffer(context_.get(), flags, bytes, data, &code));
    }
    // CL_OUT_OF_RESOURCES means out of memory for an allocation, and a lost device for the caller's memory.
    const bool too_little =
        code == CL_OUT_OF_RESOURCES ? data == nullptr : error_code(code) == ErrorCode::out_of_memory;
    if (too_little) {
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{}: {} bytes asked for, {} has {} bytes and gives at most {} at once ({})", function,
                              bytes, info_.id, info_.memory_bytes, info_.max_allocation_bytes, error_name(code)));
    }
    check(code, function, info_.id, "clCreateBuffer");
    return std::make_shared<Memory>(context_.get(), std::move(object), bytes, (flags & CL_MEM_READ_ONLY) != 0);
  }

  Handle<cl_context> context_;
  cl_device_id device_;
  std::shared_ptr<const Limits> limits_;
  std::shared_ptr<Queues> queues_ = std::make_shared<Queues>();
  std::shared_ptr<HostRanges> host_ranges_ = std::make_shared<HostRanges>();
  std::string prelude_;
};

class Backend final : public runtime::Backend {
 public:
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::opencl; }
  [[nodiscard]] bool forked() const noexcept override { return library().forked; }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> all;
    for (const FoundDevice& device : found_devices().usable) all.push_back(device.info);
    for (const DeviceInfo& info : found_devices().unusable) all.push_back(info);
    return all;
  }

  std::shared_ptr<runtime::Device> open(std::size_t number) override {
    const FoundDevice& found = found_devices().usable.at(number);
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<Device> device = opened_[number].lock()) return device;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(found.platform), 0};
    cl_int code = CL_SUCCESS;
    Handle<cl_context> context(api().clCreateContext(properties, 1, &found.device, nullptr, nullptr, &code));
    check(code, "Device::open", found.info.id, "clCreateContext");
    const Key key(context.get(), found.device);
    auto device = std::make_shared<Device>(std::move(context), found.device, found.info);
    opened_[number] = device;
    remember(key, device);
    return device;
  }

  std::shared_ptr<runtime::Device> wrap(void* context, void* device) override {
    if (!library().why.empty()) {
      throw Error(ErrorCode::unsupported, "Device::wrap_opencl: no OpenCL library: " + library().why);
    }
    const auto cl = static_cast<cl_context>(context);
    const auto id = static_cast<cl_device_id>(device);
    const std::lock_guard lock(mutex_);
    const Key key(cl, id);
    if (const auto known = by_handle_.find(key); known != by_handle_.end()) {
      if (std::shared_ptr<Device> alive = known->second.lock()) return alive;
    }
    DeviceInfo info = describe(id);
    info.id = "opencl";
    for (const FoundDevice& found : found_devices().usable) {
      if (found.device == id) info.id = found.info.id;
    }
    if (!info.usable) {
      throw Error(ErrorCode::unsupported, fmt::format("Device::wrap_opencl: {}: {}", info.name, info.why));
    }
    check(api().clRetainContext(cl), "Device::wrap_opencl", info.id, "clRetainContext");
    auto wrapped = std::make_shared<Device>(Handle<cl_context>(cl), id, std::move(info));
    remember(key, wrapped);
    return wrapped;
  }

 private:
  using Key = std::pair<cl_context, cl_device_id>;

  void remember(const Key& key, const std::shared_ptr<Device>& device) {
    std::erase_if(by_handle_, [](const auto& entry) { return entry.second.expired(); });
    by_handle_[key] = device;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::weak_ptr<Device>> opened_;
  std::map<Key, std::weak_ptr<Device>> by_handle_;
};

}  // namespace
}  // namespace masu::opencl

namespace masu::runtime {

Backend& opencl_backend() {
  static auto& backend = *new opencl::Backend;  // never destroyed: devices may be static
  return backend;
}

}  // namespace masu::runtime

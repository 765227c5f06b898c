// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <masu/error.h>

#include "backends/opencl/device.h"
#include "backends/opencl/error.h"
#include "backends/opencl/platforms.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace masu::opencl {
namespace {

class Backend final : public runtime::Backend {
 public:
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::opencl; }

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

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device.h"

#include "backends/cuda/memory.h"
#include "backends/cuda/module.h"
#include "runtime/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace masu::cuda {
namespace {

// An attribute that the driver does not know reads as 0.
unsigned attribute(const Driver& driver, CUdevice device, int which) {
  int value = 0;
  if (driver.device_get_attribute(&value, which, device) != success) return 0;
  return static_cast<unsigned>(std::max(value, 0));
}

int architecture_of(const Driver& driver, CUdevice device) {
  return static_cast<int>(attribute(driver, device, device_compute_capability_major) * 10 +
                          attribute(driver, device, device_compute_capability_minor));
}

LaunchLimits limits_of(const Driver& driver, CUdevice device, const DeviceInfo& info) {
  LaunchLimits limits;
  for (int axis = 0; axis < 3; ++axis) {
    limits.block[static_cast<std::size_t>(axis)] = attribute(driver, device, device_max_block_dim_x + axis);
    limits.grid[static_cast<std::size_t>(axis)] = attribute(driver, device, device_max_grid_dim_x + axis);
  }
  limits.local_bytes = info.local_bytes;
  limits.warp = info.warp_size;
  return limits;
}

DeviceInfo absent(std::string why) {
  DeviceInfo info;
  info.id = "cuda";
  info.kind = DeviceKind::cuda;
  info.gpu = true;
  info.usable = false;
  info.why = std::move(why);
  return info;
}

// Unusable with the reason where the driver says that, or does not answer.
DeviceInfo describe(const Driver& driver, int number) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.vendor = "NVIDIA";
  info.gpu = true;
  int version = 0;
  if (driver.driver_get_version(&version) == success) info.driver = fmt::format("CUDA {}", version_text(version));
  const auto unusable = [&info](std::string why) {
    info.usable = false;
    info.why = std::move(why);
    return info;
  };

  CUdevice device = 0;
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  if (const CUresult code = driver.device_get(&device, number); code != success) {
    return unusable(fmt::format("cuDeviceGet: {}", error_text(driver, code)));
  }
  if (const CUresult code = driver.device_get_name(name.data(), static_cast<int>(name.size()) - 1, device);
      code != success) {
    return unusable(fmt::format("cuDeviceGetName: {}", error_text(driver, code)));
  }
  info.name = name.data();
  if (const CUresult code = driver.device_total_mem(&bytes, device); code != success) {
    return unusable(fmt::format("cuDeviceTotalMem: {}", error_text(driver, code)));
  }
  info.memory_bytes = bytes;
  info.max_allocation_bytes = bytes;
  info.architecture = fmt::format("sm_{}", architecture_of(driver, device));
  info.local_bytes = std::max(attribute(driver, device, device_max_shared_memory_per_block_optin),
                              attribute(driver, device, device_max_shared_memory_per_block));
  info.local_bytes_total = attribute(driver, device, device_max_shared_memory_per_multiprocessor);
  info.compute_units = attribute(driver, device, device_multiprocessor_count);
  info.max_work_group_size = attribute(driver, device, device_max_threads_per_block);
  info.warp_size = std::max(attribute(driver, device, device_warp_size), 1U);
  if (attribute(driver, device, device_compute_mode) == static_cast<unsigned>(compute_mode_prohibited)) {
    return unusable("its compute mode is `prohibited`");
  }
  return info;
}

}  // namespace

std::vector<Listed> list_devices(const Loaded<Driver>& loaded) {
  if (!loaded.usable()) return {{0, absent(loaded.why)}};
  const Driver& driver = loaded.functions;
  int count = 0;
  if (const CUresult code = driver.device_get_count(&count); code != success) {
    return {{0, absent("cuDeviceGetCount: " + error_text(driver, code))}};
  }
  if (count == 0) return {{0, absent("the driver reports no device")}};
  std::vector<Listed> devices;
  std::size_t usable = 0;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Listed& device = devices.emplace_back(Listed{ordinal, describe(driver, ordinal)});
    device.info.id = device.info.usable ? fmt::format("cuda:{}", usable++) : "cuda";
  }
  return devices;
}

namespace {

class Device final : public runtime::Device {
 public:
  Device(std::shared_ptr<Context> context, DeviceInfo info, std::string identity)
      : context_(std::move(context)), identity_(std::move(identity)) {
    info_ = std::move(info);
    limits_ = limits_of(context_->driver(), context_->device(), info_);
    architecture_ = architecture_of(context_->driver(), context_->device());
    prelude_ = runtime::kernel_text("src/backends/cuda/prelude.cuh");
  }

  [[nodiscard]] void* native_context() const noexcept override { return context_->handle(); }
  [[nodiscard]] void* native_device() const noexcept override {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(context_->device()));
  }
  std::shared_ptr<runtime::Memory> allocate(std::uint64_t bytes) override { return Memory::allocate(context_, bytes); }
  std::shared_ptr<runtime::Memory> wrap_host(void* data, std::uint64_t bytes, bool read_only) override {
    return Memory::wrap_host(context_, data, bytes, read_only);
  }
  std::shared_ptr<runtime::Memory> wrap_native(void* handle, std::uint64_t bytes) override {
    return Memory::wrap(context_, handle, bytes);
  }
  std::shared_ptr<runtime::HostMemory> allocate_host(std::uint64_t bytes) override {
    return std::make_shared<HostMemory>(context_, bytes);
  }
  [[nodiscard]] bool is_page_locked(const void* data, std::uint64_t bytes) const noexcept override {
    return cuda::is_page_locked(*context_, data, bytes);
  }
  std::unique_ptr<runtime::Stream> make_stream(Timing timing) override { return cuda::make_stream(context_, timing); }
  std::unique_ptr<runtime::Stream> wrap_stream(void* native, Timing timing) override {
    return cuda::wrap_stream(context_, static_cast<CUstream>(native), timing);
  }
  void synchronize() override {
    const ContextScope scope(*context_);
    context_->check(context_->driver().ctx_synchronize(), "cuCtxSynchronize");
  }
  std::unique_ptr<runtime::Recorder> make_recorder() override { return cuda::make_recorder(context_); }
  void trim() override {
    const ContextScope scope(*context_);
    context_->drop_memory();
  }
  std::shared_ptr<runtime::Module> compile(std::string_view text, std::string_view options) override {
    Compiled compiled = cuda::compile(nvrtc(), architecture_, text, options);
    return make_module(context_, std::move(compiled.image), limits_, std::move(compiled.log));
  }
  std::shared_ptr<runtime::Module> load(std::string_view binary) override {
    std::optional<Image> image = unpack(binary);
    if (!image) return nullptr;
    try {
      return make_module(context_, std::move(*image), limits_, "");
    } catch (const Error& error) {
      if (error.code() == ErrorCode::build_failed) return nullptr;
      throw;
    }
  }
  [[nodiscard]] std::string cache_identity() const override {
    if (!identity_.empty()) return identity_;
    return fmt::format("cuda; {}; {}; driver {}; {}", info_.name, info_.architecture, info_.driver,
                       compiler_identity(nvrtc()));
  }
  [[nodiscard]] std::string_view prelude() const noexcept override { return prelude_; }
  [[nodiscard]] std::string_view kernel_options() const noexcept override {
    return "--std=c++17 --fmad=false -default-device";
  }
  [[nodiscard]] bool compiles_apart() const noexcept override { return true; }

 private:
  std::shared_ptr<Context> context_;
  std::string identity_;
  LaunchLimits limits_;
  int architecture_ = 0;  // 90 for sm_90
  std::string prelude_;
};

}  // namespace

std::shared_ptr<runtime::Device> make_device(std::shared_ptr<Context> context, DeviceInfo info, std::string identity) {
  return std::make_shared<Device>(std::move(context), std::move(info), std::move(identity));
}

namespace {

CUdevice handle_of(const Driver& api, const Listed& device) {
  CUdevice handle = 0;
  check(api, api.device_get(&handle, device.ordinal), "cuDeviceGet", device.info.name);
  return handle;
}

CUdevice device_of(const Driver& api, CUcontext context) {
  CUdevice device = 0;
  CUcontext popped = nullptr;
  check(api, api.ctx_push_current(context), "cuCtxPushCurrent", "the wrapped context");
  const CUresult code = api.ctx_get_device(&device);
  api.ctx_pop_current(&popped);
  check(api, code, "cuCtxGetDevice", "the wrapped context");
  return device;
}

class CudaBackend final : public runtime::Backend {
 public:
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  [[nodiscard]] bool forked() const noexcept override { return driver().forked; }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> infos;
    for (Listed& device : list_devices(driver())) infos.push_back(std::move(device.info));
    return infos;
  }

  std::shared_ptr<runtime::Device> open(std::size_t number) override {
    const std::lock_guard lock(mutex_);
    std::string why = "there is no such device";
    for (Listed& device : list_devices(driver())) {
      if (!device.info.usable) {
        why = device.info.why;
        continue;
      }
      if (number-- != 0) continue;
      auto context = Context::primary(driver().functions, handle_of(driver().functions, device), device.info.name);
      if (std::shared_ptr<runtime::Device> known = find(opened_, context->handle())) return known;
      return add(opened_, std::move(context), std::move(device.info));
    }
    throw Error(ErrorCode::unsupported, "Device::open: no usable cuda device is present: " + why);
  }

  std::shared_ptr<runtime::Device> wrap(void* context, void* /*device*/) override {
    const std::lock_guard lock(mutex_);
    if (!driver().usable()) {
      throw Error(ErrorCode::unsupported, "Device::wrap_cuda: no usable cuda device is present: " + driver().why);
    }
    auto* const handle = static_cast<CUcontext>(context);
    for (Known* known : {&opened_, &wrapped_}) {
      if (std::shared_ptr<runtime::Device> device = find(*known, handle)) return device;
    }
    const CUdevice number = device_of(driver().functions, handle);
    for (Listed& device : list_devices(driver())) {
      if (handle_of(driver().functions, device) != number) continue;
      return add(wrapped_, Context::wrap(driver().functions, handle, number, device.info.name), std::move(device.info));
    }
    throw Error(ErrorCode::unsupported, "Device::wrap_cuda: the context's device must be one that the driver lists");
  }

 private:
  using Known = std::vector<std::weak_ptr<runtime::Device>>;

  static std::shared_ptr<runtime::Device> find(Known& known, CUcontext context) {
    std::erase_if(known, [](const std::weak_ptr<runtime::Device>& device) { return device.expired(); });
    for (const std::weak_ptr<runtime::Device>& weak : known) {
      std::shared_ptr<runtime::Device> device = weak.lock();
      if (device && device->native_context() == context) return device;
    }
    return nullptr;
  }

  static std::shared_ptr<runtime::Device> add(Known& known, std::shared_ptr<Context> context, DeviceInfo info) {
    auto device = make_device(std::move(context), std::move(info));
    known.push_back(device);
    return device;
  }

  std::mutex mutex_;
  Known opened_;   // in primary contexts, which they retain
  Known wrapped_;  // in contexts of the caller's
};

}  // namespace
}  // namespace masu::cuda

namespace masu::runtime {

Backend& cuda_backend() {
  static auto& backend = *new cuda::CudaBackend;
  return backend;
}

}  // namespace masu::runtime

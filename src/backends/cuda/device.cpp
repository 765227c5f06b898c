// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device.h"

#include "backends/cuda/compiler.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/recorder.h"
#include "backends/cuda/stream.h"
#include "runtime/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

Device::Device(std::shared_ptr<Context> context, DeviceInfo info) : context_(std::move(context)) {
  info_ = std::move(info);
  limits_ = limits_of(context_->driver(), context_->device(), info_);
  architecture_ = architecture_of(context_->driver(), context_->device());
  prelude_ = runtime::kernel_text("src/backends/cuda/prelude.cuh");
}

void* Device::native_device() const noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(context_->device()));
}

std::shared_ptr<runtime::Memory> Device::allocate(std::uint64_t bytes) {
  return Memory::allocate(context_, bytes);
}

std::shared_ptr<runtime::Memory> Device::wrap_host(void* data, std::uint64_t bytes, bool read_only) {
  return Memory::wrap_host(context_, data, bytes, read_only);
}

std::shared_ptr<runtime::Memory> Device::wrap_native(void* handle, std::uint64_t bytes) {
  return Memory::wrap(context_, handle, bytes);
}

std::shared_ptr<runtime::HostMemory> Device::allocate_host(std::uint64_t bytes) {
  return std::make_shared<HostMemory>(context_, bytes);
}

bool Device::is_page_locked(const void* data, std::uint64_t bytes) const noexcept {
  return cuda::is_page_locked(*context_, data, bytes);
}

std::unique_ptr<runtime::Stream> Device::make_stream(Timing timing) {
  return std::make_unique<Stream>(context_, timing);
}

std::unique_ptr<runtime::Stream> Device::wrap_stream(void* native, Timing timing) {
  return std::make_unique<Stream>(context_, static_cast<CUstream>(native), timing);
}

void Device::synchronize() {
  const ContextScope scope(*context_);
  context_->check(context_->driver().ctx_synchronize(), "cuCtxSynchronize");
}

std::unique_ptr<runtime::Recorder> Device::make_recorder() {
  return std::make_unique<Recorder>(context_);
}

void Device::trim() {
  const ContextScope scope(*context_);
  context_->drop_memory();
}

std::shared_ptr<runtime::Module> Device::compile(std::string_view text, std::string_view options) {
  Compiled compiled = cuda::compile(nvrtc(), architecture_, text, options);
  auto image = std::make_shared<LoadedImage>(context_, std::move(compiled.image), limits_);
  return std::make_shared<Module>(std::move(image), std::move(compiled.log));
}

std::shared_ptr<runtime::Module> Device::load(std::string_view binary) {
  std::optional<Image> image = unpack(binary);
  if (!image) return nullptr;
  try {
    return std::make_shared<Module>(std::make_shared<LoadedImage>(context_, std::move(*image), limits_), "");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::build_failed) return nullptr;
    throw;
  }
}

std::string Device::cache_identity() const {
  return fmt::format("cuda; {}; {}; driver {}; {}", info_.name, info_.architecture, info_.driver,
                     compiler_identity(nvrtc()));
}

std::string_view Device::kernel_options() const noexcept {
  return "--std=c++17 --fmad=false -default-device";
}

}  // namespace masu::cuda

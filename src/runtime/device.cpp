// SPDX-License-Identifier: Apache-2.0
#include <masu/device.h>

#include "runtime/backend.h"
#include "runtime/registry.h"

#include <utility>

namespace masu {

std::string_view to_string(DeviceKind kind) noexcept {
  constexpr std::string_view names[] = {"cpu", "opencl", "cuda"};
  return names[static_cast<std::size_t>(kind)];
}

Device::Device(std::shared_ptr<runtime::Device> implementation) noexcept : implementation_(std::move(implementation)) {}

Device Device::open(std::string_view id) {
  return Device(runtime::open_device(id));
}

std::vector<DeviceInfo> Device::list() {
  return runtime::list_devices();
}

Device Device::wrap_opencl(void* cl_context, void* cl_device_id) {
  if (cl_context == nullptr || cl_device_id == nullptr) {
    throw Error(ErrorCode::invalid_argument, "Device::wrap_opencl: context and device must not be null, got null");
  }
  return Device(runtime::opencl_backend().wrap(cl_context, cl_device_id));
}

Device Device::wrap_cuda(void* cu_context) {
  if (cu_context == nullptr) {
    throw Error(ErrorCode::invalid_argument, "Device::wrap_cuda: the context must not be null, got null");
  }
  return Device(runtime::cuda_backend().wrap(cu_context, nullptr));
}

const DeviceInfo& Device::info() const noexcept {
  return implementation_->info();
}

void Device::synchronize() const {
  implementation_->synchronize();
}

void Device::trim() const {
  implementation_->trim();
}

void* Device::native_context() const noexcept {
  return implementation_->native_context();
}

void* Device::native_device() const noexcept {
  return implementation_->native_device();
}

}  // namespace masu

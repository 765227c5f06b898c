// SPDX-License-Identifier: Apache-2.0
// What the registry asks: which CUDA devices there are, and one of them to work with.
#include "runtime/backend.h"

#include "backends/cuda/device.h"
#include "backends/cuda/loader.h"

#include <mutex>
#include <utility>

namespace masu::runtime {
namespace {

using cuda::CUcontext;
using cuda::CUdevice;
using cuda::Listed;

const cuda::Driver& driver() {
  return cuda::driver().functions;
}

CUdevice handle_of(const Listed& device) {
  CUdevice handle = 0;
  cuda::check(driver(), driver().device_get(&handle, device.ordinal), "cuDeviceGet", device.info.name);
  return handle;
}

CUdevice device_of(CUcontext context) {
  CUdevice device = 0;
  CUcontext popped = nullptr;
  cuda::check(driver(), driver().ctx_push_current(context), "cuCtxPushCurrent", "the wrapped context");
  const cuda::CUresult code = driver().ctx_get_device(&device);
  driver().ctx_pop_current(&popped);
  cuda::check(driver(), code, "cuCtxGetDevice", "the wrapped context");
  return device;
}

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::cuda; }

  std::vector<DeviceInfo> devices() override {
    std::vector<DeviceInfo> infos;
    for (Listed& device : cuda::list_devices(cuda::driver())) infos.push_back(std::move(device.info));
    return infos;
  }

  std::shared_ptr<Device> open(std::size_t number) override {
    const std::lock_guard lock(mutex_);
    std::string why = "there is no such device";
    for (Listed& device : cuda::list_devices(cuda::driver())) {
      if (!device.info.usable) {
        why = device.info.why;
        continue;
      }
      if (number-- != 0) continue;
      auto context = cuda::Context::primary(driver(), handle_of(device), device.info.name);
      if (std::shared_ptr<Device> known = find(opened_, context->handle())) return known;
      return add(opened_, std::move(context), std::move(device.info));
    }
    throw Error(ErrorCode::unsupported, "Device::open: no usable cuda device is present: " + why);
  }

  std::shared_ptr<Device> wrap(void* context, void* /*device*/) override {
    const std::lock_guard lock(mutex_);
    if (!cuda::driver().usable()) {
      throw Error(ErrorCode::unsupported, "Device::wrap_cuda: no usable cuda device is present: " + cuda::driver().why);
    }
    auto* const handle = static_cast<CUcontext>(context);
    for (Known* known : {&opened_, &wrapped_}) {
      if (std::shared_ptr<Device> device = find(*known, handle)) return device;
    }
    const CUdevice number = device_of(handle);
    for (Listed& device : cuda::list_devices(cuda::driver())) {
      if (handle_of(device) != number) continue;
      return add(wrapped_, cuda::Context::wrap(driver(), handle, number, device.info.name), std::move(device.info));
    }
    throw Error(ErrorCode::unsupported, "Device::wrap_cuda: the context's device must be one that the driver lists");
  }

 private:
  using Known = std::vector<std::weak_ptr<cuda::Device>>;

  static std::shared_ptr<Device> find(Known& known, CUcontext context) {
    std::erase_if(known, [](const std::weak_ptr<cuda::Device>& device) { return device.expired(); });
    for (const std::weak_ptr<cuda::Device>& weak : known) {
      std::shared_ptr<cuda::Device> device = weak.lock();
      if (device && device->native_context() == context) return device;
    }
    return nullptr;
  }

  static std::shared_ptr<Device> add(Known& known, std::shared_ptr<cuda::Context> context, DeviceInfo info) {
    auto device = std::make_shared<cuda::Device>(std::move(context), std::move(info));
    known.push_back(device);
    return device;
  }

  std::mutex mutex_;
  Known opened_;   // in primary contexts, which they retain
  Known wrapped_;  // in contexts of the caller's
};

}  // namespace

Backend& cuda_backend() {
  static CudaBackend& backend = *new CudaBackend;
  return backend;
}

}  // namespace masu::runtime

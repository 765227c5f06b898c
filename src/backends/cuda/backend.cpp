// SPDX-License-Identifier: Apache-2.0
// What the registry asks: which CUDA devices there are, and one of them to work with.
#include "runtime/backend.h"
#include "backends/cuda/loader.h"

#include <masu/error.h>

#include <utility>

namespace masu::runtime {
namespace {

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::cuda; }

  std::vector<DeviceInfo> devices() override {
    DeviceInfo absent;
    absent.id = "cuda";
    absent.kind = DeviceKind::cuda;
    absent.usable = false;
    absent.gpu = true;
    absent.why = cuda::driver().usable() ? "the driver reports no device" : cuda::driver().why;
    return {std::move(absent)};
  }

  std::shared_ptr<Device> open(std::size_t) override { throw Error(ErrorCode::unsupported, absence()); }
  std::shared_ptr<Device> wrap(void*, void*) override { throw Error(ErrorCode::unsupported, absence()); }

 private:
  std::string absence() { return "cuda: " + devices().front().why; }
};

}  // namespace

Backend& cuda_backend() {
  static CudaBackend& backend = *new CudaBackend;
  return backend;
}

}  // namespace masu::runtime

// SPDX-License-Identifier: Apache-2.0
// A device that compiles and runs nothing, for kernels that are compiled where their device is not: a CUDA device over
// a driver whose commands do nothing. What is read back is zeros.
#include "backends/cuda/device.h"

#include "runtime/packaged_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace masu::cuda {
namespace {

// The data-centre GPU, or the largest one, of an architecture. Plans take their constants from the architecture and its
// local memory; the number of compute units decides how many work-groups are launched.
struct Model {
  int architecture;
  int compute_units;
  int local_bytes;
  int local_bytes_total;
  std::size_t memory_bytes;
};
constexpr Model models[] = {{80, 108, 163 << 10, 164 << 10, std::size_t{80} << 30},
                            {90, 132, 227 << 10, 228 << 10, std::size_t{141} << 30},
                            {100, 148, 227 << 10, 228 << 10, std::size_t{180} << 30},
                            {120, 170, 99 << 10, 100 << 10, std::size_t{32} << 30}};

CUresult attribute(int* value, int which, CUdevice device) {
  const Model& model = models[device];
  switch (which) {
    case device_max_threads_per_block: *value = 1024; break;
    case device_max_shared_memory_per_block: *value = 48 << 10; break;
    case device_warp_size: *value = 32; break;
    case device_multiprocessor_count: *value = model.compute_units; break;
    case device_compute_capability_major: *value = model.architecture / 10; break;
    case device_compute_capability_minor: *value = model.architecture % 10; break;
    case device_max_shared_memory_per_multiprocessor: *value = model.local_bytes_total; break;
    case device_max_shared_memory_per_block_optin: *value = model.local_bytes; break;
    default: *value = which >= device_max_grid_dim_x && which < device_max_grid_dim_x + 3 ? 0x7fffffff : 0; break;
  }
  if (which >= device_max_block_dim_x && which < device_max_block_dim_x + 3) *value = 1024;
  return success;
}

// Addresses of memory that is nowhere.
CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  static std::atomic<CUdeviceptr> end{CUdeviceptr{1} << 40};
  *address = end.fetch_add((bytes + 511) / 512 * 512);
  return success;
}

template <class Function>
struct Idle;
template <class... A>
struct Idle<CUresult (*)(A...)> {
  static CUresult call(A... /*arguments*/) { return success; }
};

Driver idle_driver() {
  Driver driver;
#define MASU_CUDA_IDLE(member, symbol, parameters) driver.member = Idle<decltype(driver.member)>::call;
  MASU_CUDA_DRIVER_FUNCTIONS(MASU_CUDA_IDLE)
#undef MASU_CUDA_IDLE
  driver.device_get_count = [](int* count) { return *count = static_cast<int>(std::size(models)), success; };
  driver.device_get = [](CUdevice* device, int ordinal) { return *device = ordinal, success; };
  driver.device_get_attribute = attribute;
  driver.device_total_mem = [](std::size_t* bytes, CUdevice device) {
    return *bytes = models[device].memory_bytes, success;
  };
  driver.mem_alloc = allocate;
  driver.mem_host_alloc = [](void** data, std::size_t bytes, unsigned /*flags*/) {
    return (*data = std::malloc(bytes)) != nullptr ? success : error_out_of_memory;
  };
  driver.mem_free_host = [](void* data) { return std::free(data), success; };
  driver.pointer_get_attribute = [](void* /*value*/, int /*which*/, CUdeviceptr /*address*/) {
    return error_invalid_value;
  };
  driver.memcpy_dtoh_async = [](void* target, CUdeviceptr /*source*/, std::size_t bytes, CUstream /*stream*/) {
    return std::memset(target, 0, bytes), success;
  };
  driver.func_get_attribute = [](int* value, int which, CUfunction /*function*/) {
    return *value = which == function_max_threads_per_block ? 1024 : 0, success;
  };
  return driver;
}

const Loaded<Driver>& compile_only_driver() {
  static const auto& driver = *new Loaded<Driver>{idle_driver(), "", ""};
  return driver;
}

}  // namespace
}  // namespace masu::cuda

namespace masu::runtime {

std::shared_ptr<Device> compile_only_device(std::string_view architecture) {
  const cuda::Loaded<cuda::Driver>& driver = cuda::compile_only_driver();
  std::vector<std::string> known;
  for (cuda::Listed& device : cuda::list_devices(driver)) {
    if (device.info.architecture == architecture) {
      auto context = cuda::Context::primary(driver.functions, device.ordinal, device.info.architecture);
      return cuda::make_device(std::move(context), std::move(device.info), std::string(architecture));
    }
    known.push_back(std::move(device.info.architecture));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--arch takes {}, got '{}'", fmt::join(known, ", "), architecture));
}

}  // namespace masu::runtime

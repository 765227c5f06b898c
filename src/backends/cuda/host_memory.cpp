// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host_memory.h"

#include <fmt/format.h>

#include <utility>

namespace masu::cuda {
namespace {

// Managed memory is the host's too, but copies from it are not like those from locked pages.
bool is_locked_page(const Driver& driver, CUdeviceptr address) noexcept {
  unsigned type = 0;
  unsigned managed = 0;
  return driver.pointer_get_attribute(&type, pointer_memory_type, address) == success && type == memory_type_host &&
         (driver.pointer_get_attribute(&managed, pointer_is_managed, address) != success || managed == 0);
}

// The end of the allocation or registration around `address`; `otherwise` where the driver does not tell.
CUdeviceptr end_of_range(const Driver& driver, CUdeviceptr address, CUdeviceptr otherwise) noexcept {
  CUdeviceptr start = 0;
  std::size_t size = 0;
  if (driver.pointer_get_attribute(&start, pointer_range_start, address) != success ||
      driver.pointer_get_attribute(&size, pointer_range_size, address) != success || start > address ||
      size <= address - start) {
    return otherwise;
  }
  return start + size;
}

}  // namespace

HostMemory::HostMemory(std::shared_ptr<Context> context, std::uint64_t bytes) : context_(std::move(context)) {
  const ContextScope scope(*context_);
  const CUresult code = context_->driver().mem_host_alloc(&data_, bytes, host_alloc_portable);
  if (code == error_out_of_memory) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("HostBuffer: {} must be able to lock {} bytes of host memory, got {}",
                            context_->device_name(), bytes, error_text(context_->driver(), code)));
  }
  context_->check(code, "cuMemHostAlloc");
}

HostMemory::~HostMemory() {
  const ContextScope scope(*context_, std::nothrow);
  if (scope.current()) context_->driver().mem_free_host(data_);
}

bool is_page_locked(const Context& context, const void* data, std::uint64_t bytes) noexcept {
  const ContextScope scope(context, std::nothrow);
  if (!scope.current()) return false;
  const Driver& driver = context.driver();
  const auto first = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(data));
  const CUdeviceptr last = first + (bytes - 1);
  for (CUdeviceptr at = first; at <= last; at = end_of_range(driver, at, last + 1)) {
    if (!is_locked_page(driver, at)) return false;
  }
  return is_locked_page(driver, last);
}

}  // namespace masu::cuda

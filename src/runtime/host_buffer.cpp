// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <masu/error.h>
#include <masu/host_buffer.h>

#include "runtime/backend.h"
#include "runtime/cpu_limits.h"

#include <algorithm>
#include <limits>

namespace masu {
namespace {

std::shared_ptr<runtime::HostMemory> allocate(const Device& device, std::uint64_t count, std::size_t size) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t always_tried = std::uint64_t{64} << 20;
  const bool small = count <= always_tried / size;
  const std::uint64_t available = small ? 0 : runtime::available_memory();
  // Asked before the driver: locking more pages than there are stops the machine, or the process, before it fails.
  if (count > most / size || (available != 0 && count * size > available)) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("HostBuffer: the host must have {} elements of {} bytes free, got {} bytes", count, size,
                            available));
  }
  // An empty buffer has memory too, so that its address is valid.
  return device.implementation()->allocate_host(std::max<std::uint64_t>(count * size, 1));
}

}  // namespace

HostBufferBase::HostBufferBase(const Device& device, std::uint64_t count, std::size_t size)
    : device_(device), memory_(allocate(device, count, size)), data_(memory_->data()), bytes_(count * size) {}

bool Device::is_page_locked(const void* data, std::uint64_t bytes) const noexcept {
  return data != nullptr && bytes != 0 && implementation_->is_page_locked(data, bytes);
}

}  // namespace masu

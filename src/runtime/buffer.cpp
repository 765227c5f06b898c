// SPDX-License-Identifier: Apache-2.0
#include "runtime/backend.h"
#include "runtime/environment.h"
#include "runtime/stream_pool.h"

#include <fmt/format.h>
#include <masu/buffer.h>
#include <masu/error.h>
#include <algorithm>
#include <cstddef>
#include <limits>

namespace masu {
namespace {

constexpr std::uint64_t staging_bytes = std::uint64_t{32} << 20;

std::byte* host_address(const BufferBase& buffer) {
  return static_cast<std::byte*>(buffer.native()) + buffer.byte_offset();
}

}  // namespace

bool runtime::overlap(const BufferBase& a, const BufferBase& b) noexcept {
  if (a.size_bytes() == 0 || b.size_bytes() == 0 || a.device().kind() != b.device().kind()) return false;
  const std::uintptr_t left = a.memory()->place();
  const std::uintptr_t right = b.memory()->place();
  if (a.device().kind() == DeviceKind::opencl && left != right) return false;
  return left + a.byte_offset() < right + b.byte_offset() + b.size_bytes() &&
         right + b.byte_offset() < left + a.byte_offset() + a.size_bytes();
}

void runtime::check_copy(const BufferBase& target, const BufferBase& source) {
  if (target.size_bytes() != source.size_bytes()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("copy: both buffers must be of one size, got {} and {} bytes",
                                                         target.size_bytes(), source.size_bytes()));
  }
  if (overlap(target, source)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("copy: the buffers must not overlap, got offsets {} and {} with {} bytes in one memory",
                            target.byte_offset(), source.byte_offset(), target.size_bytes()));
  }
}

void* BufferBase::native() const noexcept {
  return memory_->native();
}

std::shared_ptr<runtime::Memory> BufferBase::allocate(const Device& device, std::uint64_t count, std::size_t size) {
  if (count > std::numeric_limits<std::int64_t>::max() / size) {
    throw Error(ErrorCode::out_of_memory, fmt::format("allocate: {} elements of {} bytes asked for, {} has {} bytes",
                                                      count, size, device.id(), device.info().memory_bytes));
  }
  // An empty buffer has memory too, so that every buffer can be given to a kernel.
  return runtime::memory_for_call(*device.implementation(), std::max<std::uint64_t>(count * size, 1));
}

std::shared_ptr<runtime::Memory> BufferBase::wrap_host(const Device& device, const void* data, std::uint64_t bytes,
                                                       bool read_only) {
  if (bytes == 0) return device.implementation()->allocate(1);
  if (data == nullptr) {
    throw Error(ErrorCode::invalid_argument, fmt::format("wrap_host: the range must not be null, got {} bytes", bytes));
  }
  return device.implementation()->wrap_host(const_cast<void*>(data), bytes, read_only);
}

std::shared_ptr<runtime::Memory> BufferBase::wrap_native(const Device& device, void* handle, std::uint64_t bytes) {
  if (handle == nullptr) {
    throw Error(ErrorCode::invalid_argument, "wrap_native: the handle must not be null, got null");
  }
  return device.implementation()->wrap_native(handle, bytes);
}

void BufferBase::read_bytes(std::uint64_t offset, void* target, std::uint64_t bytes) const {
  if (bytes == 0) return;
  const runtime::StreamLease stream(*device_.implementation());
  stream->read(*memory_, offset_ + offset, target, bytes, runtime::Mark::no);
  stream->finish();
}

void BufferBase::write_bytes(std::uint64_t offset, const void* source, std::uint64_t bytes) {
  if (bytes == 0) return;
  const runtime::StreamLease stream(*device_.implementation());
  stream->write(*memory_, offset_ + offset, source, bytes);
  stream->finish();
}

void BufferBase::fill_bytes(const void* pattern, std::size_t size) {
  if (bytes_ == 0) return;
  const runtime::StreamLease stream(*device_.implementation());
  stream->fill(*memory_, offset_, bytes_, pattern, size, runtime::Mark::no);
  stream->finish();
}

void BufferBase::copy_bytes(const BufferBase& source) {
  runtime::check_copy(*this, source);
  if (bytes_ == 0) return;
  if (device_ == source.device_) {
    const runtime::StreamLease stream(*device_.implementation());
    stream->copy(*memory_, offset_, *source.memory_, source.offset_, bytes_, runtime::Mark::no);
    stream->finish();
  } else if (source.device_.kind() == DeviceKind::cpu) {
    write_bytes(0, host_address(source), bytes_);
  } else if (device_.kind() == DeviceKind::cpu) {
    source.read_bytes(0, host_address(*this), bytes_);
  } else {
    std::vector<std::byte> staging(std::min(bytes_, staging_bytes));
    for (std::uint64_t done = 0; done < bytes_; done += staging.size()) {
      const std::uint64_t part = std::min<std::uint64_t>(staging.size(), bytes_ - done);
      source.read_bytes(done, staging.data(), part);
      write_bytes(done, staging.data(), part);
    }
  }
}

void BufferBase::check_slice(std::uint64_t first, std::uint64_t count, std::uint64_t size) const {
  const std::uint64_t elements = bytes_ / size;
  if (first <= elements && count <= elements - first) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("Buffer: elements must lie inside of the buffer, got {} elements from {} on in a buffer of {}", count,
                  first, elements));
}

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

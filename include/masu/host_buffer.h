// SPDX-License-Identifier: Apache-2.0
/// @file
/// Host memory from which copies to a device run at full speed, in parallel with the host's own work.
#pragma once

#include <masu/device.h>

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace masu {

namespace runtime {
class HostMemory;
}

/// The untyped part of a HostBuffer.
class MASU_EXPORT HostBufferBase {
 public:
  HostBufferBase(HostBufferBase&& other) noexcept
      : device_(std::move(other.device_)),
        memory_(std::move(other.memory_)),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  HostBufferBase& operator=(HostBufferBase&& other) noexcept {
    if (this != &other) {
      memory_ = std::move(other.memory_);  // the old memory is released before its device
      device_ = std::move(other.device_);
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  HostBufferBase(const HostBufferBase&) = delete;
  HostBufferBase& operator=(const HostBufferBase&) = delete;

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return bytes_; }

 protected:
  HostBufferBase(const Device& device, std::uint64_t count, std::size_t size);
  ~HostBufferBase() = default;
  [[nodiscard]] void* address() const noexcept { return data_; }

 private:
  Device device_;
  std::shared_ptr<runtime::HostMemory> memory_;
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// `size()` elements of T in host memory that suits a device: page-locked for CUDA and OpenCL, so that Stream::write
/// and Stream::read with it return at once and run at the full speed of the bus; ordinary memory for `cpu`. It starts
/// at a multiple of 64 bytes. Move-only; keeps its device alive. It must outlive the commands that use it. Locked
/// pages cannot be swapped out: allocate few and keep them.
template <class T>
class HostBuffer : public HostBufferBase {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "masu::HostBuffer: T must be trivially copyable and not const");

 public:
  using value_type = T;

  /// Uninitialised memory. Throws out_of_memory, naming the bytes. `count` may be 0.
  HostBuffer(const Device& device, std::uint64_t count) : HostBufferBase(device, count, sizeof(T)) {}

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(address()); }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_bytes() / sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_bytes() == 0; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), size()}; }
};

}  // namespace masu

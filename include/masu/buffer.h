// SPDX-License-Identifier: Apache-2.0
/// @file
/// Typed memory on a device, and host memory from which copies to a device run at full speed, in parallel with the
/// host's own work.
#pragma once

#include <masu/device.h>
#include <masu/dtype.h>

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {

namespace runtime {
class Memory;
}

/// The untyped part of a Buffer: which memory, where in it, how many bytes.
class MASU_EXPORT BufferBase {
 public:
  BufferBase(BufferBase&&) noexcept = default;
  BufferBase& operator=(BufferBase&&) noexcept = default;
  BufferBase(const BufferBase&) = delete;
  BufferBase& operator=(const BufferBase&) = delete;

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return bytes_; }
  /// The offset of this buffer in its memory, in bytes (not 0 for sub-views).
  [[nodiscard]] std::uint64_t byte_offset() const noexcept { return offset_; }
  /// The memory's own handle: cl_mem, CUdeviceptr (as a pointer), or the address on `cpu`. byte_offset() is not in it.
  [[nodiscard]] void* native() const noexcept;
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& memory() const noexcept { return memory_; }

 protected:
  BufferBase(Device device, std::shared_ptr<runtime::Memory> memory, std::uint64_t offset, std::uint64_t bytes)
      : device_(std::move(device)), memory_(std::move(memory)), offset_(offset), bytes_(bytes) {}
  ~BufferBase() = default;

  static std::shared_ptr<runtime::Memory> allocate(const Device& device, std::uint64_t count, std::size_t size);
  static std::shared_ptr<runtime::Memory> wrap_host(const Device& device, const void* data, std::uint64_t bytes,
                                                    bool read_only);
  static std::shared_ptr<runtime::Memory> wrap_native(const Device& device, void* handle, std::uint64_t bytes);
  void read_bytes(std::uint64_t offset, void* target, std::uint64_t bytes) const;
  void write_bytes(std::uint64_t offset, const void* source, std::uint64_t bytes);
  void fill_bytes(const void* pattern, std::size_t size);
  void copy_bytes(const BufferBase& source);
  void check_slice(std::uint64_t first, std::uint64_t count, std::uint64_t size) const;

 private:
  Device device_;
  std::shared_ptr<runtime::Memory> memory_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

/// `size()` elements of T on a device. Move-only; keeps its device and its memory alive. A buffer that was moved from
/// may only be assigned to or destroyed. `Buffer<const T>` is read-only. The calls below wait until they are done; the
/// same on a Stream do not. A Buffer is used by one thread at a time.
template <class T>
class Buffer : public BufferBase {
  static_assert(std::is_trivially_copyable_v<T>, "masu::Buffer: T must be trivially copyable");

 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  /// A read-only buffer from a writable one.
  Buffer(Buffer<value_type>&& other) noexcept requires std::is_const_v<T> : BufferBase(std::move(other)) {}

  /// Uninitialised memory. See Device::allocate.
  Buffer(const Device& device, std::uint64_t count)
      : BufferBase(device, allocate(device, count, sizeof(T)), 0, count * sizeof(T)) {}

  /// Wraps a host range without a copy and without ownership; the range must outlive the buffer. On OpenCL the memory
  /// is used in place where the driver can. The host may touch it only while it is mapped or after a read.
  /// Throws unsupported where the device cannot use host memory in place.
  static Buffer wrap_host(const Device& device, std::span<T> range) {
    return Buffer(device, BufferBase::wrap_host(device, range.data(), range.size_bytes(), std::is_const_v<T>), 0,
                  range.size_bytes());
  }

  /// Wraps device memory of the caller's (a cl_mem, which is retained; a CUdeviceptr, which must outlive the buffer;
  /// an address on `cpu`). Element alignment is enough.
  static Buffer wrap_native(const Device& device, void* handle, std::uint64_t count) {
    return Buffer(device, BufferBase::wrap_native(device, handle, count * sizeof(T)), 0, count * sizeof(T));
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_bytes() / sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_bytes() == 0; }

  /// A view of `count` elements from element `first` on, in the same memory. Throws invalid_argument when they are not
  /// inside.
  [[nodiscard]] Buffer slice(std::uint64_t first, std::uint64_t count) const {
    check_slice(first, count, sizeof(T));
    return Buffer(device(), memory(), byte_offset() + first * sizeof(T), count * sizeof(T));
  }
  [[nodiscard]] Buffer<const value_type> read_only() const {
    return Buffer<const value_type>(device(), memory(), byte_offset(), size_bytes());
  }

  [[nodiscard]] std::vector<value_type> read() const {
    std::vector<value_type> result(size());
    read_bytes(0, result.data(), size_bytes());
    return result;
  }
  /// Copies range.size() elements from element `first` on into the range.
  void read(std::span<value_type> range, std::uint64_t first = 0) const {
    check_slice(first, range.size(), sizeof(T));
    read_bytes(first * sizeof(T), range.data(), range.size_bytes());
  }
  void write(std::span<const value_type> range, std::uint64_t first = 0) requires(!std::is_const_v<T>) {
    check_slice(first, range.size(), sizeof(T));
    write_bytes(first * sizeof(T), range.data(), range.size_bytes());
  }
  /// Sets every element to `value`.
  void fill(const value_type& value) requires(!std::is_const_v<T>) { fill_bytes(&value, sizeof(T)); }
  /// Copies another buffer of the same size here, from any device. The two must not overlap.
  void copy_from(const Buffer<const value_type>& source) requires(!std::is_const_v<T>) { copy_bytes(source); }
  void copy_from(const Buffer<value_type>& source) requires(!std::is_const_v<T>) { copy_bytes(source); }

  Buffer(Device device, std::shared_ptr<runtime::Memory> memory, std::uint64_t offset, std::uint64_t bytes)
      : BufferBase(std::move(device), std::move(memory), offset, bytes) {}
};

template <class T>
Buffer<T> Device::allocate(std::uint64_t count) const {
  return Buffer<T>(*this, count);
}

template <HostRange R>
auto Device::upload(const R& range) const {
  using T = std::remove_cv_t<std::ranges::range_value_t<R>>;
  Buffer<T> buffer(*this, std::ranges::size(range));
  buffer.write(std::span<const T>(std::ranges::data(range), std::ranges::size(range)));
  return buffer;
}

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

/// `size()` elements of T in host memory that suits a device. It is page-locked for CUDA and OpenCL, so
/// Stream::write and Stream::read with it return at once. They run at the full speed of the bus. For `cpu` it is
/// ordinary memory. It starts at a multiple of 64 bytes. Move-only; keeps its device alive. It must outlive the
/// commands that use it. Locked pages cannot be swapped out: allocate few and keep them.
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

// SPDX-License-Identifier: Apache-2.0
/// @file
/// A rank's part of data that lies distributed over the ranks. Part of mpi.h, which says what holds.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/scan.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace masu::mpi {

/// The elements of one rank, which may be none: host memory and the device that works on it, or memory of a device.
/// Does not own them. Functions take one where they are given a contiguous host range or a Buffer.
class Part {
 public:
  /// Host memory, on a device.
  Part(const Device& device, const ArrayView& data)
      : device_(device), dtype_(data.dtype), count_(data.count), host_(data.data) {}
  /// A contiguous host range, on `cpu` unless MASU_DEVICE names another device.
  template <HostRange R>
  requires(!std::is_base_of_v<BufferBase, R>) Part(const R& range) {
    const ArrayView data(range);
    dtype_ = data.dtype;
    count_ = data.count;
    host_ = data.data;
  }
  /// Device memory, where it is.
  Part(const BufferBase& data, Dtype dtype)
      : device_(data.device()), dtype_(dtype), count_(data.size_bytes() / size_of(dtype)), buffer_(&data) {}
  template <Element T>
  Part(const Buffer<T>& data) : Part(data, dtype_of<T>) {}

  /// Throws where MASU_DEVICE names no device: not before the ranks are in a call together.
  [[nodiscard]] Device device() const { return device_ ? *device_ : device_for(Work::moving); }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Null for host memory.
  [[nodiscard]] const BufferBase* buffer() const noexcept { return buffer_; }
  /// The elements in host memory; those of a device are copied into `memory`.
  [[nodiscard]] ArrayView host(std::vector<std::byte>& memory) const {
    if (buffer_ == nullptr) return {dtype_, host_, count_};
    memory = Buffer<const std::byte>(*device_, buffer_->memory(), buffer_->byte_offset(), buffer_->size_bytes()).read();
    return {dtype_, memory.data(), count_};
  }
  /// Gives them to an accumulator of this device.
  template <class Accumulator>
  void add_to(Accumulator& accumulator) const {
    if (buffer_ != nullptr) accumulator.add_buffer(*buffer_, dtype_);
    else accumulator.add(ArrayView(dtype_, host_, count_));
  }
  /// The same without waiting for the device: `stream`, made here, must outlive the accumulator.
  template <class Accumulator>
  void start(Accumulator& accumulator, std::optional<Stream>& stream) const {
    if (buffer_ == nullptr) return add_to(accumulator);
    accumulator.add_buffer(stream.emplace(*device_, Timing::off), *buffer_, dtype_);
  }

 private:
  std::optional<Device> device_;
  Dtype dtype_ = Dtype::u8;
  std::uint64_t count_ = 0;
  const void* host_ = nullptr;
  const BufferBase* buffer_ = nullptr;
};

}  // namespace masu::mpi

// SPDX-License-Identifier: Apache-2.0
/// @file
/// What accumulators share. An accumulator takes data that comes in pieces, and has the result of all pieces at any
/// time. Move-only; one thread at a time.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/version.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace masu::detail {

/// Deletes an object of a type that is complete only in the library.
struct HiddenDelete {
  void (*destroy)(void*) noexcept = nullptr;
  void operator()(void* object) const noexcept { destroy(object); }
};
/// Owns such an object. A class that holds one needs no destructor and no moves of its own.
template <class T>
using Hidden = std::unique_ptr<T, HiddenDelete>;
template <class T, class... Arguments>
Hidden<T> make_hidden(Arguments&&... arguments) {
  return Hidden<T>(new T(std::forward<Arguments>(arguments)...),
                   HiddenDelete{[](void* object) noexcept { delete static_cast<T*>(object); }});
}

/// The part of an accumulator that does not depend on what it finds.
template <class Self>
class MASU_EXPORT Accumulator {
 public:
  struct State;

  /// Takes the next piece, in host memory, which may be reused when this returns. Throws invalid_argument for another
  /// dtype than the accumulator's.
  void add(const ArrayView& piece);
  /// Takes what another accumulator of the same dtype and options has taken, as the pieces after this one's. Throws
  /// invalid_argument where they differ, and where they have 2^63 elements or more together.
  void merge(const Self& later);
  /// The state as bytes, little-endian, with a version: the same on every device.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// Throws invalid_argument for anything that bytes() did not write.
  static Self from_bytes(const Device& device, std::span<const std::byte> bytes);
  /// The dtype of the data.
  [[nodiscard]] Dtype dtype() const noexcept;
  /// The number of elements so far.
  [[nodiscard]] std::uint64_t count() const noexcept;
  /// The times of all calls so far.
  [[nodiscard]] Times times() const;

 protected:
  Hidden<State> state_;
};

/// The same for accumulators that take device memory, too.
template <class Self>
class MASU_EXPORT BufferAccumulator : public Accumulator<Self> {
 public:
  using Accumulator<Self>::add;
  /// Takes the next piece, in memory of this accumulator's device.
  template <Element T>
  void add(const Buffer<T>& piece) {
    add_buffer(piece, dtype_of<T>);
  }
  /// The same for data whose dtype is known at run time.
  void add_buffer(const BufferBase& piece, Dtype dtype);
};

}  // namespace masu::detail

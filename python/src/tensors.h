// SPDX-License-Identifier: Apache-2.0
// Arrays of PyTorch's and CuPy's in the memory of a CUDA device, taken and made in less than a microsecond: for calls
// that only enqueue. All with the GIL.
#pragma once

#include "module.h"

#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace masu_python {

inline constexpr std::size_t most_dimensions = 32;

// The dtype as NumPy and __cuda_array_interface__ have it: "f4".
const char* numpy_code(masu::Dtype dtype) noexcept;

// A C-contiguous array, borrowed from the object of Python that was asked for it, with at least one element.
struct Tensor {
  void* data = nullptr;
  masu::Dtype dtype = masu::Dtype::u8;
  bool boolean = false;  // u8 that stands for truth values
  std::int32_t ordinal = 0;
  std::uint64_t count = 1;
  std::size_t dimensions = 0;
  std::array<std::int64_t, most_dimensions> shape{};

  [[nodiscard]] std::span<const std::int64_t> lengths() const { return {shape.data(), dimensions}; }
  // Counts elements; false where there are none, or more than masu takes, or where they are not aligned.
  bool measure();
};

// What a library made, until it is given to Python or goes.
class Made {
 public:
  virtual ~Made() = default;
  [[nodiscard]] virtual void* data() const noexcept = 0;
  // A new reference; null with an exception set. Called once. `length`: so many of the elements of one dimension, or
  // all.
  static constexpr std::int64_t whole = -1;
  virtual PyObject* give(std::int64_t length = whole) = 0;
};

// A library of arrays. Null and false stand for an exception that is set, unless said otherwise.
class Library {
 public:
  virtual ~Library() = default;
  // False, with no exception set, for what is not plain: other memory, dtypes and strides, or what the library must do
  // first with the array.
  virtual bool take(PyObject* array, Tensor& tensor) = 0;
  // The stream to which it gives work for the device now.
  virtual bool stream(std::int32_t ordinal, void*& handle) = 0;
  // Uninitialised, of its allocator, in the order of that stream.
  virtual std::unique_ptr<Made> make(std::int32_t ordinal, masu::Dtype dtype, bool boolean,
                                     std::span<const std::int64_t> shape) = 0;
};

// The library whose arrays are of exactly this type, not of one derived from it; null, with no exception set, for
// others.
Library* library_of(PyTypeObject* type);

}  // namespace masu_python

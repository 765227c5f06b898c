// SPDX-License-Identifier: Apache-2.0
// Arrays of PyTorch's and CuPy's in the memory of a CUDA device, taken and made in less than a microsecond: for calls
// that only enqueue. All with the GIL.
#pragma once

#include "module.h"

#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

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

// A library of arrays. Null and false stand for an exception that is set, unless said otherwise.
class Library {
 public:
  virtual ~Library() = default;
  // False, with no exception set, for what is not plain: other memory, dtypes and strides, or what the library must do
  // first with the array.
  virtual bool take(PyObject* array, Tensor& tensor) = 0;
  // The stream to which it gives work for the device now.
  virtual bool stream(std::int32_t ordinal, void*& handle) = 0;

 private:
  friend class Made;
  // Uninitialised, of its allocator, in the order of that stream: what stands for the array until it is given, and its
  // memory.
  virtual void* make(std::int32_t ordinal, masu::Dtype dtype, bool boolean, std::span<const std::int64_t> shape,
                     void*& data) = 0;
  // The array, a new reference, with so many of the elements of one dimension, or all. It is `made` no more.
  virtual PyObject* give(void* made, std::int64_t length) = 0;
  virtual void drop(void* made) noexcept = 0;
};

// What a library made, until it is given to Python or goes.
class Made {
 public:
  static constexpr std::int64_t whole = -1;

  Made() = default;
  ~Made() {
    if (made_ != nullptr) library_->drop(made_);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  void swap(Made& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(made_, other.made_);
    std::swap(data_, other.data_);
  }
  bool make(Library& library, std::int32_t ordinal, masu::Dtype dtype, bool boolean,
            std::span<const std::int64_t> shape) {
    library_ = &library;
    made_ = library.make(ordinal, dtype, boolean, shape, data_);
    return made_ != nullptr;
  }
  [[nodiscard]] void* data() const noexcept { return data_; }
  // Called once.
  PyObject* give(std::int64_t length = whole) { return library_->give(std::exchange(made_, nullptr), length); }

 private:
  Library* library_ = nullptr;
  void* made_ = nullptr;
  void* data_ = nullptr;
};

// The library whose arrays are of exactly this type, not of one derived from it; null, with no exception set, for
// others.
Library* library_of(PyTypeObject* type);

}  // namespace masu_python

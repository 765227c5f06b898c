// SPDX-License-Identifier: Apache-2.0
// Arrays of PyTorch's and CuPy's in the memory of a CUDA device, taken and made in less than a microsecond: for calls
// that only enqueue. All with the GIL.
#pragma once

#include "dlpack.h"
#include "lines.h"
#include "module.h"

#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace masu_python {

// The dtype as NumPy and __cuda_array_interface__ have it: "f4"; of what NumPy lacks that in which its bins and
// quantiles are computed.
const char* numpy_code(masu::Dtype dtype) noexcept;
// Takes "bfloat16" too. False for other texts.
bool find_dtype(std::string_view code, masu::Dtype& dtype) noexcept;

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

// A library of arrays, which has DLPack's functions, or, as CuPy, gets them here. Null and false stand for an exception
// that is set, unless said otherwise.
struct Library {
  const dlpack::Exchange& exchange;
  PyObject* module;         // None where it is unknown
  PyObject* requires_grad;  // names; null where its arrays lack them
  PyObject* is_neg;

  // False, with no exception set, for what is not plain: other memory, dtypes and strides, or what the library must do
  // first with the array.
  bool take(PyObject* array, Tensor& tensor) const;
  // The stream to which it gives work for the device now.
  bool stream(std::int32_t ordinal, void*& handle) const {
    return exchange.current_stream(dlpack::cuda, ordinal, &handle) == 0;
  }
};

// An array that a library made, until it is given to Python or goes.
class Made {
 public:
  static constexpr std::int64_t whole = -1;

  Made() = default;
  ~Made();
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  void swap(Made& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(managed_, other.managed_);
  }
  // Uninitialised, of the library's allocator, in the order of its stream. False with an exception set.
  bool make(const Library& library, std::int32_t ordinal, masu::Dtype dtype, bool boolean,
            std::span<const std::int64_t> shape);
  [[nodiscard]] void* data() const noexcept {
    return static_cast<std::byte*>(managed_->array.data) + managed_->array.byte_offset;
  }
  // The array, a new reference, with so many of the elements of one dimension, or all. Called once.
  PyObject* give(std::int64_t length = whole);

 private:
  const Library* library_ = nullptr;
  dlpack::Managed* managed_ = nullptr;
};

// For dlpack::Exchange::allocate: sets the exception that an allocator names; of the library where it has one of its
// own for full memory.
void set_error(void* module, const char* kind, const char* message);

// The library whose arrays are of exactly this type, not of one derived from it; null, with no exception set, for
// others.
const Library* library_of(PyTypeObject* type);

}  // namespace masu_python

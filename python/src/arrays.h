// SPDX-License-Identifier: Apache-2.0
// Arrays as the functions of the extension module take them: C-contiguous, native byte order, one of masu's dtypes; in
// host memory (anything with the buffer protocol) or on a device (DeviceArray). The package brings all else into this
// shape before.
#pragma once

#include "transpose/strided.h"

#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/weighted_histogram.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu_python {

namespace nb = nanobind;

// Arrays of NumPy's as they lie in memory. The layout is part of NumPy's C interface, the same in all versions from 2.0
// on, so that a field is read without a call of Python's: numpy.dtype
struct NumpyDtype {
  PyObject head;
  PyTypeObject* scalar;
  char kind;
  char code;
  char byte_order;
  char unused;
  int number;
};

// And numpy.ndarray.
struct NumpyArray {
  PyObject head;
  void* data;
  int dimensions;
  Py_ssize_t* lengths;
  Py_ssize_t* strides;
  PyObject* base;
  NumpyDtype* dtype;
  int flags;

  [[nodiscard]] std::span<const Py_ssize_t> shape() const noexcept {
    return {lengths, static_cast<std::size_t>(dimensions)};
  }
  // The elements as they lie.
  [[nodiscard]] masu::Strided<std::byte> elements() const noexcept {
    return {static_cast<std::byte*>(data), shape(), {strides, static_cast<std::size_t>(dimensions)}};
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t product = 1;
    for (const Py_ssize_t length : shape()) product *= static_cast<std::uint64_t>(length);
    return product;
  }
  [[nodiscard]] bool is_native() const noexcept { return dtype->byte_order != '>'; }
  [[nodiscard]] bool is_bool() const noexcept { return dtype->number == 0; }
  [[nodiscard]] bool is_integer() const noexcept { return dtype->number >= 1 && dtype->number <= 10; }
  [[nodiscard]] bool is_float() const noexcept;  // of a dtype that masu has
  // C-contiguous, aligned and native.
  [[nodiscard]] bool is_plain() const noexcept { return (flags & plain_flags) == plain_flags && is_native(); }
  [[nodiscard]] bool is_writable() const noexcept { return (flags & 0x400) != 0; }

 private:
  static constexpr int plain_flags = 0x101;
};

PyTypeObject* numpy_array_type() noexcept;  // numpy.ndarray; null where NumPy is not one of these versions
// An array of that type itself; null for all else, and where NumPy is not one of these versions. Null
// too for truth values whose bytes are not all 0 or 1, and for many of them: truth_values() makes these usable.
const NumpyArray* numpy_array(PyObject* object) noexcept;

// The same of any truth values.
const NumpyArray* any_numpy_array(PyObject* object) noexcept;

// Whether all of these bytes are 0 or 1.
bool are_truth_values(const std::uint8_t* bytes, std::uint64_t count) noexcept;

// masu's dtype of the elements, bool as u8; false where masu has none. A dtype is known by its number: other libraries'
// dtypes may have the characters of NumPy's.
bool dtype_of(const NumpyArray& array, masu::Dtype& dtype) noexcept;

// The elements of what numpy_array() gives, where they lie C-contiguous, aligned and native, of a dtype that masu has.
std::optional<masu::ArrayView> plain_elements(PyObject* object) noexcept;

// Whether NumPy compares the elements of an array with these numbers as doubles, although all are integers: of 64 bits,
// some with a sign and some without. Then integers beyond 2^53 may compare as equal. False for other objects.
bool compares_as_doubles(const NumpyArray& array, PyObject* numbers) noexcept;

// An uninitialised array of that shape and dtype. Only where numpy_array() gave an array. Throws nb::python_error.
nb::object new_numpy_array(std::span<const Py_ssize_t> shape, masu::Dtype dtype, bool boolean = false);
nb::object new_numpy_array(std::span<const Py_ssize_t> shape, NumpyDtype* dtype);
nb::object new_numpy_array(const masu::ArrayView& elements);  // of one dimension, with these elements
void* data_of(const nb::object& array) noexcept;              // of one that was made so
PyObject* new_numpy_scalar(masu::Dtype dtype, void* element);

// Memory on a device: masu's own, or another library's, which `owner` keeps alive.
struct DeviceArray {
  masu::Buffer<std::byte> buffer;
  masu::Dtype dtype = masu::Dtype::u8;
  bool boolean = false;  // u8 that stands for truth values
  bool read_only = false;
  std::vector<std::int64_t> shape;
  nb::object owner;
  std::optional<std::uint64_t> stream;  // CUDA's handle, where another library's work on the memory may be under way
};

// What Input and Output have in common. Holds the array's memory while it lives; made and destroyed with the GIL.
class Array {
 public:
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] masu::Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Null for an array in host memory.
  [[nodiscard]] bool on_device() const noexcept { return device_ != nullptr; }
  // Whether it is on a device and of truth values.
  [[nodiscard]] bool is_truth() const noexcept { return device_ != nullptr && device_->boolean; }

 protected:
  Array() = default;
  Array(nb::handle array, bool writable);
  ~Array();
  // Takes an array of NumPy's in this shape without a call of Python's; false where it is something else.
  bool take(PyObject* array, bool writable) noexcept;

  Py_buffer view_{};
  DeviceArray* device_ = nullptr;
  void* data_ = nullptr;
  masu::Dtype dtype_ = masu::Dtype::u8;
  std::uint64_t count_ = 0;
};

// An array that is only read: `view()` in host memory, `buffer()` on a device.
class Input : public Array {
 public:
  Input(nb::handle array) : Array(array, false) {}  // NOLINT(google-explicit-constructor): see taking()
  [[nodiscard]] masu::ArrayView view() const noexcept { return {dtype_, data_, count_}; }
  [[nodiscard]] const masu::Buffer<std::byte>& buffer() const noexcept { return device_->buffer; }
  template <class T>
  [[nodiscard]] const T* data() const noexcept {
    return static_cast<const T*>(data_);
  }
};

// An array that is written.
class Output : public Array {
 public:
  Output(nb::handle array) : Array(array, true) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] masu::MutableArrayView view() const noexcept { return {dtype_, data_, count_}; }
  [[nodiscard]] masu::Buffer<std::byte>& buffer() const noexcept { return device_->buffer; }
  template <class T>
  [[nodiscard]] T* data() const noexcept {
    return static_cast<T*>(data_);
  }
};

// The totals of one row, or what lies outside of its bins, in f64, or in 64 bits where the weights are integers.
inline masu::ArrayView totals_in(masu::Dtype dtype, const masu::WeightedHistogram& found, std::uint64_t row,
                                 bool outside) {
  const auto view = [](const auto& numbers) { return masu::ArrayView(numbers); };
  switch (dtype) {
    case masu::Dtype::i64: return view(outside ? found.signed_extra_totals(row) : found.signed_totals(row));
    case masu::Dtype::u64: return view(outside ? found.unsigned_extra_totals(row) : found.unsigned_totals(row));
    default: return view(outside ? found.extra_totals(row) : found.totals(row));
  }
}
inline masu::Dtype dtype_of_totals(masu::Dtype weights) {
  return masu::is_float(weights) ? masu::Dtype::f64 : masu::is_signed(weights) ? masu::Dtype::i64 : masu::Dtype::u64;
}

// Columns in host memory, or on one device.
struct Columns {
  Columns(nb::handle list) {  // NOLINT(google-explicit-constructor)
    for (const nb::handle column : list) inputs.push_back(std::make_unique<Input>(column));
    for (const auto& input : inputs) {
      on_device = on_device || input->on_device();
      if (input->on_device()) buffers.push_back(&input->buffer());
      else views.push_back(input->view());
    }
  }
  [[nodiscard]] masu::Dtype dtype() const { return inputs.at(0)->dtype(); }

  std::vector<std::unique_ptr<Input>> inputs;
  std::vector<masu::ArrayView> views;
  std::vector<const masu::BufferBase*> buffers;
  bool on_device = false;
};

// A function of the module, as Python calls it: its parameters that are Inputs, Outputs and Columns are made of the
// arrays that Python gives, and hold these while it runs.
template <class Parameter>
struct FromPython {
  using Type = Parameter;
};
template <>
struct FromPython<const Input&> {
  using Type = nb::handle;
};
template <>
struct FromPython<const Output&> {
  using Type = nb::handle;
};
template <>
struct FromPython<const Columns&> {
  using Type = nb::handle;
};
template <class Result, class... Parameters>
auto taking(Result (*function)(Parameters...)) {
  return [function](typename FromPython<Parameters>::Type... given) { return function(given...); };
}

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// Arrays of NumPy's as they lie in memory. The layout is part of NumPy's C interface, the same in all versions from 2.0
// on, so that a field is read without a call of Python's.
#pragma once

#include <masu/dtype.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace masu_python {

namespace nb = nanobind;

// numpy.dtype
struct NumpyDtype {
  PyObject head;
  PyTypeObject* scalar;
  char kind;
  char code;
  char byte_order;
  char unused;
  int number;
};

// numpy.ndarray
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
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t product = 1;
    for (const Py_ssize_t length : shape()) product *= static_cast<std::uint64_t>(length);
    return product;
  }
  [[nodiscard]] bool is_native() const noexcept { return dtype->byte_order != '>'; }
  [[nodiscard]] bool is_bool() const noexcept { return dtype->code == '?'; }
  [[nodiscard]] bool is_integer() const noexcept { return dtype->kind == 'i' || dtype->kind == 'u'; }
  [[nodiscard]] bool is_float() const noexcept;  // of a dtype that masu has
  // C-contiguous, aligned and native.
  [[nodiscard]] bool is_plain() const noexcept { return (flags & plain_flags) == plain_flags && is_native(); }
  [[nodiscard]] bool is_writable() const noexcept { return (flags & 0x400) != 0; }

 private:
  static constexpr int plain_flags = 0x101;
};

// An array whose type is numpy.ndarray itself; null for all else, and where NumPy is not one of these versions.
const NumpyArray* numpy_array(PyObject* object) noexcept;

// masu's dtype of the elements, bool as u8; false where masu has none.
bool dtype_of(const NumpyArray& array, masu::Dtype& dtype) noexcept;

// Copies the elements, `size` bytes each, in the order of their indices.
void copy_elements(const NumpyArray& array, std::size_t size, std::byte* to);

// An uninitialised array of that shape and dtype; null with an exception set. Only where numpy_array() gave an array.
PyObject* new_numpy_array(std::span<const Py_ssize_t> shape, masu::Dtype dtype);
PyObject* new_numpy_array(std::span<const Py_ssize_t> shape, NumpyDtype* dtype);
void* data_of(PyObject* array) noexcept;  // of one that was made so
// A scalar of NumPy's, f32 or f64.
PyObject* new_numpy_scalar(masu::Dtype dtype, double value);

}  // namespace masu_python

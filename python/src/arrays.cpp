// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include <string>
#include <string_view>

namespace masu_python {
namespace {

// The dtype of an element in the buffer protocol's terms: a character of the module struct, and its size. f16 is 'e'.
bool dtype_of_format(std::string_view format, Py_ssize_t bytes, masu::Dtype& dtype) {
  if (format.empty()) format = "B";
  if (format.front() == '@' || format.front() == '=' || format.front() == '<') format.remove_prefix(1);
  if (format.size() != 1) return false;
  const char kind = format.front();
  if (kind == 'e') dtype = masu::Dtype::f16;
  else if (kind == 'f') dtype = masu::Dtype::f32;
  else if (kind == 'd') dtype = masu::Dtype::f64;
  else if (std::string_view("?BHILQNc").find(kind) != std::string_view::npos) {
    switch (bytes) {
      case 1: dtype = masu::Dtype::u8; break;
      case 2: dtype = masu::Dtype::u16; break;
      case 4: dtype = masu::Dtype::u32; break;
      case 8: dtype = masu::Dtype::u64; break;
      default: return false;
    }
  } else if (std::string_view("bhilqn").find(kind) != std::string_view::npos) {
    switch (bytes) {
      case 1: dtype = masu::Dtype::i8; break;
      case 2: dtype = masu::Dtype::i16; break;
      case 4: dtype = masu::Dtype::i32; break;
      case 8: dtype = masu::Dtype::i64; break;
      default: return false;
    }
  } else {
    return false;
  }
  return bytes == static_cast<Py_ssize_t>(masu::size_of(dtype));
}

}  // namespace

const NumpyArray* Array::take(PyObject* array, bool writable) noexcept {
  const NumpyArray* const known = numpy_array(array);
  if (known == nullptr || !known->is_plain() || (writable && !known->is_writable()) || !dtype_of(*known, dtype_)) {
    return nullptr;
  }
  data_ = known->data;
  count_ = known->count();
  view_.obj = Py_NewRef(array);
  return known;
}

Array::Array(nb::handle array, bool writable) {
  if (take(array.ptr(), writable) != nullptr) return;
  if (nb::inst_check(array) && nb::isinstance<DeviceArray>(array)) {
    device_ = nb::inst_ptr<DeviceArray>(array);
    if (writable && device_->read_only) throw nb::value_error("array: read-only memory cannot be written");
    dtype_ = device_->dtype;
    count_ = device_->buffer.size() / masu::size_of(dtype_);
    return;
  }
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0) throw nb::python_error();
  const std::string_view format = view_.format == nullptr ? "" : view_.format;
  if (!dtype_of_format(format, view_.itemsize, dtype_)) {
    const std::string message =
        "array: the dtype must be bool, an integer or float16 to float64 in native byte order, got format " +
        std::string(format);
    PyBuffer_Release(&view_);
    throw nb::type_error(message.c_str());
  }
  data_ = view_.buf;
  count_ = static_cast<std::uint64_t>(view_.len / view_.itemsize);
}

MaybeInput::MaybeInput(nb::handle array) noexcept {
  if (const NumpyArray* const known = take(array.ptr(), false)) {
    view_.shape = known->lengths;
    view_.ndim = known->dimensions;
    boolean_ = known->is_bool();
    return;
  }
  if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    view_.obj = nullptr;
    return;
  }
  const std::string_view format = view_.format == nullptr ? "" : view_.format;
  if (PyBuffer_IsContiguous(&view_, 'C') == 0 || !dtype_of_format(format, view_.itemsize, dtype_)) return;
  if (reinterpret_cast<std::uintptr_t>(view_.buf) % static_cast<std::uintptr_t>(view_.itemsize) != 0) return;
  boolean_ = format.find('?') != std::string_view::npos;
  data_ = view_.buf;
  count_ = static_cast<std::uint64_t>(view_.len / view_.itemsize);
}

Array::~Array() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

}  // namespace masu_python

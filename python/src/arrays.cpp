// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include "module.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace masu_python {
namespace {

// The functions of NumPy's C interface that are used, from the table that it keeps for other modules.
struct Interface {
  PyTypeObject* array_type = nullptr;
  NumpyDtype* (*dtype)(int number) = nullptr;
  PyObject* (*scalar)(void* data, NumpyDtype* dtype, PyObject* base) = nullptr;
  PyObject* (*empty)(int dimensions, const Py_ssize_t* shape, NumpyDtype* dtype, int fortran) = nullptr;

  Interface() {
    constexpr unsigned known = 0x02000000;
    PyObject* const module = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject* const capsule = module == nullptr ? nullptr : PyObject_GetAttrString(module, "_ARRAY_API");
    auto* const table = capsule == nullptr ? nullptr : static_cast<void**>(PyCapsule_GetPointer(capsule, nullptr));
    if (table != nullptr && reinterpret_cast<unsigned (*)()>(table[0])() == known) {
      dtype = reinterpret_cast<decltype(dtype)>(table[45]);
      scalar = reinterpret_cast<decltype(scalar)>(table[60]);
      empty = reinterpret_cast<decltype(empty)>(table[184]);
      array_type = static_cast<PyTypeObject*>(table[2]);
    }
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    PyErr_Clear();
  }
};

const Interface& numpy() noexcept {
  static const Interface interface;
  return interface;
}

// NumPy's number of a type.
int number_of(masu::Dtype dtype) noexcept {
  constexpr bool long_is_wide = sizeof(long) == 8;
  switch (dtype) {
    case masu::Dtype::i8: return 1;
    case masu::Dtype::u8: return 2;
    case masu::Dtype::i16: return 3;
    case masu::Dtype::u16: return 4;
    case masu::Dtype::i32: return 5;
    case masu::Dtype::u32: return 6;
    case masu::Dtype::i64: return long_is_wide ? 7 : 9;
    case masu::Dtype::u64: return long_is_wide ? 8 : 10;
    case masu::Dtype::f32: return 11;
    case masu::Dtype::f64: return 12;
    case masu::Dtype::f16: break;
  }
  return 23;
}

}  // namespace

bool NumpyArray::is_float() const noexcept {
  return dtype->number == 11 || dtype->number == 12 || dtype->number == 23;
}

MASU_FOR_EVERY_PROCESSOR bool are_truth_values(const std::uint8_t* bytes, std::uint64_t count) noexcept {
  constexpr std::uint64_t block = 4096;  // a block with another byte ends the search
  for (std::uint64_t first = 0; first < count; first += block) {
    std::uint8_t all = 0;
    const std::uint64_t end = std::min(count, first + block);
    for (std::uint64_t i = first; i < end; ++i) all |= bytes[i];
    if (all > 1) return false;
  }
  return true;
}

namespace {

// Whether these are truth values that a plain call may take as bytes.
bool are_usable(const NumpyArray& array) noexcept {
  constexpr std::uint64_t most = 1U << 18;  // more are looked at once, by truth_values()
  constexpr int contiguous = 0x3;           // in C's order or in Fortran's
  return array.count() <= most && (array.flags & contiguous) != 0 &&
         are_truth_values(static_cast<const std::uint8_t*>(array.data), array.count());
}

const NumpyArray* any_array(PyObject* object) noexcept {
  return Py_TYPE(object) == numpy().array_type ? reinterpret_cast<const NumpyArray*>(object) : nullptr;
}

}  // namespace

PyTypeObject* numpy_array_type() noexcept {
  return numpy().array_type;
}

const NumpyArray* numpy_array(PyObject* object) noexcept {
  const NumpyArray* const array = any_array(object);
  return array == nullptr || !array->is_bool() || are_usable(*array) ? array : nullptr;
}

bool dtype_of(const NumpyArray& array, masu::Dtype& dtype) noexcept {
  using masu::Dtype;
  constexpr Dtype i_long = sizeof(long) == 8 ? Dtype::i64 : Dtype::i32;
  constexpr Dtype u_long = sizeof(long) == 8 ? Dtype::u64 : Dtype::u32;
  constexpr std::array by_number = {Dtype::u8, Dtype::i8, Dtype::u8,  Dtype::i16, Dtype::u16, Dtype::i32, Dtype::u32,
                                    i_long,    u_long,    Dtype::i64, Dtype::u64, Dtype::f32, Dtype::f64};
  const auto number = static_cast<unsigned>(array.dtype->number);
  const bool is_half = number == 23;
  if (!is_half && number >= by_number.size()) return false;
  dtype = is_half ? Dtype::f16 : by_number[number];
  return true;
}

bool compares_as_doubles(const NumpyArray& array, PyObject* numbers) noexcept {
  masu::Dtype dtype{};
  if (!dtype_of(array, dtype) || (dtype != masu::Dtype::i64 && dtype != masu::Dtype::u64)) return false;
  const bool is_signed = dtype == masu::Dtype::i64;
  if (const NumpyArray* const others = any_array(numbers)) {
    masu::Dtype other{};
    return dtype_of(*others, other) && other == (is_signed ? masu::Dtype::u64 : masu::Dtype::i64);
  }
  const auto beyond = [&](PyObject* number) {  // NumPy makes int64 of a number of Python's, and uint64 of a greater one
    if (PyLong_CheckExact(number) == 0) return false;
    int overflow = 0;
    static_cast<void>(PyLong_AsLongLongAndOverflow(number, &overflow));
    return (overflow != 0) == is_signed;
  };
  if (PyList_CheckExact(numbers) != 0 || PyTuple_CheckExact(numbers) != 0) {  // of edges, which rise or fall
    const Py_ssize_t count = PySequence_Size(numbers);
    const auto at = [&](Py_ssize_t i) { return beyond(nb::steal(PySequence_GetItem(numbers, i)).ptr()); };
    return count != 0 && (at(0) || at(count - 1));
  }
  static const nb::handle integers = nb::object(nb::module_::import_("numpy").attr("integer")).release();
  return beyond(numbers) || PyObject_IsInstance(numbers, integers.ptr()) == 1;
}

namespace {

// Of one line; eight side by side, as a loop of one waits for its own counter.
template <std::size_t size>
std::byte* copy_line(const char* from, Py_ssize_t stride, Py_ssize_t count, std::byte* to) {
  constexpr Py_ssize_t together = 8;
  Py_ssize_t i = 0;
  for (; i + together <= count; i += together, from += together * stride) {
    for (Py_ssize_t k = 0; k < together; ++k, to += size) std::memcpy(to, from + k * stride, size);
  }
  for (; i < count; ++i, from += stride, to += size) std::memcpy(to, from, size);
  return to;
}

template <std::size_t size>
std::byte* copy_axes(const NumpyArray& array, int axis, const char* from, std::byte* to) {
  const Py_ssize_t stride = array.strides[axis];
  const Py_ssize_t length = array.lengths[axis];
  if (axis + 1 == array.dimensions) return copy_line<size>(from, stride, length, to);
  for (Py_ssize_t i = 0; i < length; ++i) to = copy_axes<size>(array, axis + 1, from + i * stride, to);
  return to;
}

}  // namespace

void copy_elements(const NumpyArray& array, std::size_t size, std::byte* to) {
  const auto* const from = static_cast<const char*>(array.data);
  switch (size) {
    case 1: copy_axes<1>(array, 0, from, to); break;
    case 2: copy_axes<2>(array, 0, from, to); break;
    case 4: copy_axes<4>(array, 0, from, to); break;
    default: copy_axes<8>(array, 0, from, to); break;
  }
}

PyObject* new_numpy_array(std::span<const Py_ssize_t> shape, NumpyDtype* dtype) {
  Py_INCREF(reinterpret_cast<PyObject*>(dtype));  // which the function takes
  return numpy().empty(static_cast<int>(shape.size()), shape.data(), dtype, 0);
}

PyObject* new_numpy_array(std::span<const Py_ssize_t> shape, masu::Dtype dtype) {
  return numpy().empty(static_cast<int>(shape.size()), shape.data(), numpy().dtype(number_of(dtype)), 0);
}

void* data_of(PyObject* array) noexcept {
  return reinterpret_cast<NumpyArray*>(array)->data;
}

PyObject* new_numpy_scalar(masu::Dtype dtype, double value) {
  std::array<std::byte, 8> bytes{};
  const auto put = [&](auto rounded) { std::memcpy(bytes.data(), &rounded, sizeof rounded); };
  if (dtype == masu::Dtype::f64) put(value);
  else put(static_cast<float>(value));
  NumpyDtype* const type = numpy().dtype(number_of(dtype));
  PyObject* const scalar = numpy().scalar(bytes.data(), type, nullptr);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
  return scalar;
}

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
  const NumpyArray* const known = any_array(array);
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
    if (boolean_ && !are_usable(*known)) count_ = 0;
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
  if (boolean_ && !are_truth_values(static_cast<const std::uint8_t*>(data_), count_)) count_ = 0;
}

Array::~Array() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

}  // namespace masu_python

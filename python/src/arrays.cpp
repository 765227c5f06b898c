// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include "elements/dtypes.h"
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

// NumPy's number of a type; of 64-bit integers that of long where it is as wide.
int number_of(masu::Dtype dtype) noexcept {
  const int number = masu::names_of(dtype).numpy_number;
  return sizeof(long) == 8 && !masu::is_float(dtype) && masu::size_of(dtype) == 8 ? number - 2 : number;
}

// The dtypes by NumPy's numbers; none for -1.
constexpr int long_number = 7;
constexpr auto by_number = [] {
  std::array<int, 24> all{};
  all.fill(-1);
  const auto put = [&](int number, masu::Dtype dtype) {
    if (number >= 0) all[static_cast<std::size_t>(number)] = static_cast<int>(dtype);
  };
  put(0, masu::dtype_of<bool>);
  put(long_number, masu::dtype_of<long>);
  put(long_number + 1, masu::dtype_of<unsigned long>);
  for (const masu::DtypeNames& each : masu::dtype_names) put(each.numpy_number, each.dtype);
  return all;
}();

}  // namespace

bool NumpyArray::is_float() const noexcept {
  masu::Dtype type{};
  return dtype_of(*this, type) && masu::is_float(type);
}

bool are_truth_values(const std::uint8_t* bytes, std::uint64_t count) noexcept {
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

}  // namespace

const NumpyArray* any_numpy_array(PyObject* object) noexcept {
  return Py_TYPE(object) == numpy().array_type ? reinterpret_cast<const NumpyArray*>(object) : nullptr;
}

PyTypeObject* numpy_array_type() noexcept {
  return numpy().array_type;
}

const NumpyArray* numpy_array(PyObject* object) noexcept {
  const NumpyArray* const array = any_numpy_array(object);
  return array == nullptr || !array->is_bool() || are_usable(*array) ? array : nullptr;
}

bool dtype_of(const NumpyArray& array, masu::Dtype& dtype) noexcept {
  const auto number = static_cast<unsigned>(array.dtype->number);
  if (number >= by_number.size() || by_number[number] < 0) return false;
  dtype = static_cast<masu::Dtype>(by_number[number]);
  return true;
}

std::optional<masu::ArrayView> plain_elements(PyObject* object) noexcept {
  const NumpyArray* const array = numpy_array(object);
  masu::Dtype dtype{};
  if (array == nullptr || !array->is_plain() || !dtype_of(*array, dtype)) return std::nullopt;
  return masu::ArrayView(dtype, array->data, array->count());
}

bool compares_as_doubles(const NumpyArray& array, PyObject* numbers) noexcept {
  masu::Dtype dtype{};
  if (!dtype_of(array, dtype) || (dtype != masu::Dtype::i64 && dtype != masu::Dtype::u64)) return false;
  const bool is_signed = dtype == masu::Dtype::i64;
  if (const NumpyArray* const others = any_numpy_array(numbers)) {
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

nb::object new_numpy_array(std::span<const Py_ssize_t> shape, NumpyDtype* dtype) {
  Py_INCREF(reinterpret_cast<PyObject*>(dtype));  // which the function takes
  PyObject* const made = numpy().empty(static_cast<int>(shape.size()), shape.data(), dtype, 0);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object new_numpy_array(std::span<const Py_ssize_t> shape, masu::Dtype dtype, bool boolean) {
  const nb::object type = nb::steal(reinterpret_cast<PyObject*>(numpy().dtype(boolean ? 0 : number_of(dtype))));
  return new_numpy_array(shape, reinterpret_cast<NumpyDtype*>(type.ptr()));
}

nb::object new_numpy_array(const masu::ArrayView& elements) {
  const auto length = static_cast<Py_ssize_t>(elements.count);
  nb::object made = new_numpy_array({&length, 1}, elements.dtype);
  if (length != 0) std::memcpy(data_of(made), elements.data, elements.count * masu::size_of(elements.dtype));
  return made;
}

void* data_of(const nb::object& array) noexcept {
  return reinterpret_cast<NumpyArray*>(array.ptr())->data;
}

PyObject* new_numpy_scalar(masu::Dtype dtype, void* element) {
  NumpyDtype* const type = numpy().dtype(number_of(dtype));
  PyObject* const scalar = numpy().scalar(element, type, nullptr);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
  return scalar;
}

namespace {

// The dtype of an element in the buffer protocol's terms: a character of the module struct, and its size.
bool dtype_of_format(std::string_view format, Py_ssize_t bytes, masu::Dtype& dtype) {
  if (format.empty()) format = "B";
  if (format.front() == '@' || format.front() == '=' || format.front() == '<') format.remove_prefix(1);
  if (format == "?" || format == "c") format = "B";
  if (format.size() != 1 || format == "P") return false;
  const masu::DtypeNames* const named = masu::find_dtype(
      [&](const masu::DtypeNames& each) { return each.numpy_characters.find(format) != std::string_view::npos; });
  if (named == nullptr) return false;
  const masu::DtypeNames* const found = masu::find_dtype([&](const masu::DtypeNames& each) {
    if (masu::is_float(named->dtype)) return each.dtype == named->dtype;
    return masu::class_of(each.dtype) == masu::class_of(named->dtype) &&
           static_cast<Py_ssize_t>(masu::size_of(each.dtype)) == bytes;
  });
  if (found == nullptr) return false;
  dtype = found->dtype;
  return bytes == static_cast<Py_ssize_t>(masu::size_of(dtype));
}

}  // namespace

bool Array::take(PyObject* array, bool writable) noexcept {
  const NumpyArray* const known = any_numpy_array(array);
  if (known == nullptr || !known->is_plain() || (writable && !known->is_writable()) || !dtype_of(*known, dtype_)) {
    return false;
  }
  data_ = known->data;
  count_ = known->count();
  view_.obj = Py_NewRef(array);
  return true;
}

Array::Array(nb::handle array, bool writable) {
  if (take(array.ptr(), writable)) return;
  if (nb::inst_check(array) && nb::isinstance<DeviceArray>(array)) {
    device_ = nb::inst_ptr<DeviceArray>(array);
    if (writable && device_->read_only) throw nb::value_error("array: read-only memory cannot be written");
    dtype_ = device_->dtype;
    count_ = device_->buffer.size() / masu::size_of(dtype_);
    if (device_->buffer.device().kind() == masu::DeviceKind::cpu && count_ != 0) {
      data_ = static_cast<std::byte*>(device_->buffer.native()) + device_->buffer.byte_offset();
    }
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

Array::~Array() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

}  // namespace masu_python

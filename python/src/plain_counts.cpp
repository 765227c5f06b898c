// SPDX-License-Identifier: Apache-2.0
// Plain calls of counts of arrays of NumPy's, which NumPy makes where there are few elements.
#include "bincount.h"
#include "function.h"
#include "lines.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace masu_python {
namespace {

PyObject* by_numpy(PyObject* function, const Given& given) {
  return PyObject_Vectorcall(function, given.values, given.count, given.names);
}

// Whether no element of one dimension is negative or 2^63 - 1, for which NumPy writes outside of its memory.
bool are_counted(const NumpyArray& x) {
  masu::Dtype dtype{};
  if (!x.is_integer() || (dtype_of(x, dtype) && masu::size_of(dtype) != sizeof(std::uint64_t))) return true;
  if (!x.is_native() || x.dimensions != 1) return false;
  const auto* from = static_cast<const char*>(x.data);
  const std::uint64_t count = x.count();
  std::uint64_t any = 0;
  for (std::uint64_t i = 0; i < count; ++i, from += x.strides[0]) {
    std::uint64_t number = 0;
    std::memcpy(&number, from, sizeof number);
    any |= number | (number + 1);
  }
  return any >> 63 == 0;
}

}  // namespace

PyObject* plain::bincount(const Given& given) {
  static const Parameters parameters(3, {"x", "weights", "minlength"});
  static PyObject* const numpys = numpy_function("bincount");
  Parameters::Values values{};
  if (given.count == 0 || !parameters.take(given, values)) return nullptr;
  const NumpyArray* const x = numpy_array(values[0]);
  if (x == nullptr) return nullptr;
  if (is_none(values[1])) return x->count() < small_limit(4) && are_counted(*x) ? by_numpy(numpys, given) : nullptr;
  std::int64_t least = 0;
  if (numpy_array(values[1]) == nullptr || !stays_here(x->count())) return nullptr;
  if (values[2] != nullptr && (!integer(values[2], least) || least < 0)) return nullptr;
  return weighted_bincount(values[0], values[1], static_cast<std::uint64_t>(least)).release().ptr();
}

PyObject* plain::histogram(const Given& given) {
  static const Parameters parameters(5, {"a", "bins", "range", "density", "weights", "axis", "device"});
  static PyObject* const numpys = numpy_function("histogram");
  static PyObject* const ten = PyLong_FromLong(10);
  constexpr std::uint64_t prepared = 16;
  Parameters::Values values{};
  if (!parameters.take(given, values)) return nullptr;
  const NumpyArray* const a = numpy_array(values[0]);
  if (a == nullptr || !is_none(values[4]) || !is_none(values[5]) || !is_none(values[6])) return nullptr;
  PyObject* const bins = values[1] == nullptr ? ten : values[1];
  std::int64_t count = 0;
  const bool even = integer(bins, count);
  if (!even && PyUnicode_CheckExact(bins) == 0 && PyList_CheckExact(bins) == 0 && PyTuple_CheckExact(bins) == 0 &&
      numpy_array(bins) == nullptr) {
    return nullptr;
  }
  // Bins take longer than fewer elements, and NumPy's arithmetic of f16 is prepared for each of its values.
  const bool slow = (even && count > static_cast<std::int64_t>(a->count())) || a->dtype->code == 'e';
  if (a->count() >= small_limit(slow ? prepared : 1)) return nullptr;
  PyObject* const of[] = {values[0], bins, values[2] == nullptr ? Py_None : values[2],
                          values[3] == nullptr ? Py_None : values[3]};
  return PyObject_Vectorcall(numpys, of, 4, nullptr);
}

PyObject* plain::digitize(const Given& given) {
  static const Parameters parameters(3, {"x", "bins", "right"});
  static PyObject* const numpys = numpy_function("digitize");
  Parameters::Values values{};
  if (!parameters.take(given, values) || values[1] == nullptr) return nullptr;
  const NumpyArray* const x = numpy_array(values[0]);
  const bool known = numpy_array(values[1]) != nullptr || PyList_CheckExact(values[1]) != 0;
  return x != nullptr && known && x->count() < small_limit() ? by_numpy(numpys, given) : nullptr;
}

}  // namespace masu_python

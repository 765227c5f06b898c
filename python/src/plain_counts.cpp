// SPDX-License-Identifier: Apache-2.0
// Plain calls of counts of arrays of NumPy's, which NumPy makes where there are few elements.
#include "bincount.h"
#include "function.h"

#include <cstdint>
#include <optional>

namespace masu_python {
namespace {

PyObject* by_numpy(PyObject* function, const Given& given) {
  return PyObject_Vectorcall(function, given.values, given.count, given.names);
}

}  // namespace

PyObject* plain::bincount(const Given& given) {
  static const Parameters parameters(3, {"x", "weights", "minlength"});
  static PyObject* const numpys = numpy_function("bincount");
  Parameters::Values values{};
  if (given.count == 0 || !parameters.take(given, values)) return nullptr;
  const NumpyArray* const x = numpy_array(values[0]);
  if (x == nullptr) return nullptr;
  if (is_none(values[1])) return x->count() < small_limit(4) ? by_numpy(numpys, given) : nullptr;
  std::int64_t least = 0;
  if (numpy_array(values[1]) == nullptr || !stays_here(x->count())) return nullptr;
  if (values[2] != nullptr && (!integer(values[2], least) || least < 0)) return nullptr;
  return weighted_bincount(values[0], values[1], static_cast<std::uint64_t>(least)).release().ptr();
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

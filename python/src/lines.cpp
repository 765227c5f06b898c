// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

namespace masu_python {

bool integer(PyObject* object, std::int64_t& value) {
  if (PyLong_CheckExact(object) == 0) return false;
  value = PyLong_AsLongLong(object);
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

namespace {

// Which axes the tuple names, a bit for each; 0 for what is not plain.
std::uint32_t axes_of(PyObject* axis, std::int64_t dimensions) {
  std::uint32_t axes = 0;
  const Py_ssize_t count = PyTuple_Size(axis);
  for (Py_ssize_t i = 0; i < count; ++i) {
    std::int64_t number = 0;
    if (!integer(PyTuple_GetItem(axis, i), number) || number < -dimensions || number >= dimensions) return 0;
    const std::uint32_t bit = std::uint32_t{1} << (number < 0 ? number + dimensions : number);
    if ((axes & bit) != 0) return 0;
    axes |= bit;
  }
  return axes;
}

}  // namespace

bool lines_of(std::span<const std::int64_t> shape, PyObject* axis, Lines& lines, bool several) {
  if (axis == Py_None) return lines.find_all(shape);
  if (shape.size() > most_dimensions) return false;
  const auto dimensions = static_cast<std::int64_t>(shape.size());
  std::uint32_t axes = 0;
  std::int64_t number = -1;
  if (several && axis != nullptr && PyTuple_CheckExact(axis) != 0) {
    axes = axes_of(axis, dimensions);
  } else if ((axis == nullptr || integer(axis, number)) && number >= -dimensions && number < dimensions) {
    axes = std::uint32_t{1} << (number < 0 ? number + dimensions : number);
  }
  return axes != 0 && lines.find(shape, axes);
}

bool host_lines_of(std::span<const std::int64_t> shape, PyObject* axis, Lines& lines) {
  return !shape.empty() && lines_of(shape, axis, lines) && lines.length * lines.number() != 0;
}

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// Quantiles of the arrays of tensors.h, enqueued.
#include "enqueue_function.h"
#include "quantile_points.h"

#include <masu/quantile.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace masu_python {
namespace {

// NumPy's answer for a q, a method and the length of a line.
struct Points {
  std::uint64_t number = 0;  // no two have the same
  std::vector<masu::QuantilePoint> list;
  std::vector<std::int64_t> shape;  // of q
  std::optional<Dtype> result;      // none: the array's
};

template <class T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool append_number(std::string& key, PyObject* q) {
  std::int64_t whole = 0;
  if (integer(q, whole)) {
    key += 'i';
    append(key, whole);
    return true;
  }
  if (PyFloat_CheckExact(q) == 0) return false;
  key += 'f';
  append(key, PyFloat_AsDouble(q));
  return true;
}

// What q is, as a part of a key. False for what is not plain: numbers of Python's, lists and tuples of them, and arrays
// of NumPy's.
bool append_quantiles(std::string& key, PyObject* q) {
  constexpr Py_ssize_t most = 4096;
  if (append_number(key, q)) return true;
  if (PyList_CheckExact(q) != 0 || PyTuple_CheckExact(q) != 0) {
    key += '[';
    const Py_ssize_t count = PySequence_Size(q);
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* const one = PyList_CheckExact(q) != 0 ? PyList_GetItem(q, i) : PyTuple_GetItem(q, i);
      if (one == nullptr || !append_number(key, one)) return false;
    }
    return count > 0 && count <= most;
  }
  Py_buffer view{};
  if (PyObject_CheckBuffer(q) == 0 || PyObject_GetBuffer(q, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool plain = view.format != nullptr && view.len > 0 && view.len / view.itemsize <= most;
  if (plain) {
    key.append(view.format).append(1, ':');
    for (int axis = 0; axis < view.ndim; ++axis) append(key, view.shape[axis]);
    key.append(1, ':').append(static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len));
  }
  PyBuffer_Release(&view);
  return plain;
}

// Asks NumPy: `ask(percent, count, dtype, q, method)` gives what points_of() takes, or None.
std::shared_ptr<const Points> asked(PyObject* ask, PyObject* percent, std::uint64_t count, const Tensor& x, PyObject* q,
                                    PyObject* method) {
  const nb::object answer = nb::borrow(ask)(nb::borrow(percent), count, x.boolean ? "?" : numpy_code(x.dtype),
                                            nb::borrow(q), nb::borrow(method));
  static std::uint64_t number = 0;
  auto points = std::make_shared<Points>();
  points->number = ++number;
  if (answer.is_none()) return points;
  points->list = points_of(answer[0], answer[1], answer[2], answer[3]);
  switch (nb::cast<int>(answer[4])) {
    case 2: points->result = Dtype::f16; break;
    case 4: points->result = Dtype::f32; break;
    case 8: points->result = Dtype::f64; break;
    default: break;
  }
  points->shape = nb::cast<std::vector<std::int64_t>>(answer[5]);
  return points;
}

// (a, q, axis, method, keepdims, out, ask, percent)
Answer quantile(Arguments arguments) {
  Tensor x;
  Lines lines;
  Library* const library = take(arguments[0], x);
  PyObject* const q = arguments[1];
  PyObject* const method = arguments[3];
  if (library == nullptr || !lines_of(x, arguments[2], lines, true) || PyUnicode_CheckExact(method) == 0) return {};
  std::string key;
  append(key, lines.length);
  append(key, x.dtype);
  key += static_cast<char>((x.boolean ? 1 : 0) + (arguments[7] == Py_True ? 2 : 0));
  key.append(nb::borrow<nb::str>(method).c_str()).append(1, ':');
  if (!append_quantiles(key, q)) return {};
  static auto& known = *new std::unordered_map<std::string, std::shared_ptr<const Points>>;  // with the GIL
  constexpr std::size_t most_known = 4096;
  const auto found = known.find(key);
  if (found == known.end()) {
    auto points = asked(arguments[6], arguments[7], lines.length, x, q, method);
    if (known.size() >= most_known) known.clear();
    known.emplace(std::move(key), std::move(points));
    return {Outcome::again};
  }
  const std::shared_ptr<const Points> points = found->second;
  if (points->list.empty()) return {};
  std::vector<std::int64_t> shape = points->shape;
  const auto reduced = lines.reduced(arguments[4] == Py_True);
  shape.insert(shape.end(), reduced.begin(), reduced.end());
  if (shape.size() > most_dimensions) return {};
  const Dtype result = points->result.value_or(x.dtype);
  EnqueuedCall call(Function::quantile, *library, x.ordinal);
  call.input(x);
  key_of_lines(call, lines);
  call.option(points->number);
  if (!call.output(result, x.boolean && !points->result, shape, arguments[5])) return {};
  return finished(call, [&](const Device& device, Buffers data) {
    Stream stream(device, Timing::off);
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = as_rows(device, stream, data[0], x.dtype, lines, memory);
    const masu::SelectionOptions options{.rows = lines.number()};
    static_cast<void>(masu::quantiles(stream, rows, x.dtype, points->list, data[1], result, options));
  });
}

}  // namespace

void register_enqueued_quantile(nb::module_& m) {
  static PyMethodDef methods[] = {entry<quantile>("enqueue_quantile"), {}};
  if (PyModule_AddFunctions(m.ptr(), methods) != 0) throw nb::python_error();
}

}  // namespace masu_python

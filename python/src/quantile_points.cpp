// SPDX-License-Identifier: Apache-2.0
#include "quantile_points.h"

#include "function.h"
#include "lines.h"
#include "tensors.h"

#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <unordered_map>

namespace masu_python {
namespace {

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

// Whether a buffer holds plain numbers, whose bytes say all of them: no addresses of objects, no fields.
bool holds_numbers(const Py_buffer& view) {
  if (view.format == nullptr || view.len <= 0) return false;
  std::string_view format(view.format);
  if (format.size() == 2 && std::string_view("@=<>!").find(format[0]) != format.npos) format.remove_prefix(1);
  return format.size() == 1 && std::string_view("?bBhHiIlLqQefd").find(format[0]) != format.npos;
}

// What q is, as a part of a key.
bool append_quantiles(std::string& key, PyObject* q) {
  constexpr Py_ssize_t most = 4096;
  if (append_number(key, q)) return true;
  if (PyList_CheckExact(q) != 0 || PyTuple_CheckExact(q) != 0) {
    key += '[';
    const Py_ssize_t count = PySequence_Size(q);
    for (Py_ssize_t i = 0; i < count && count <= most; ++i) {
      PyObject* const one = PyList_CheckExact(q) != 0 ? PyList_GetItem(q, i) : PyTuple_GetItem(q, i);
      if (one == nullptr || !append_number(key, one)) return false;
    }
    return count > 0 && count <= most;
  }
  // Exactly an array of NumPy's, or one of its scalars: NumPy may take a scalar as another dtype than an array of it.
  static PyObject* const scalar = numpy_function("generic");
  const bool is_array = numpy_array(q) != nullptr;
  if (!is_array && PyObject_IsInstance(q, scalar) != 1) {
    PyErr_Clear();
    return false;
  }
  key += is_array ? 'a' : 's';
  Py_buffer view{};
  if (PyObject_GetBuffer(q, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  const bool plain = holds_numbers(view) && view.len / view.itemsize <= most;
  if (plain) {
    key.append(view.format).append(1, ':');
    for (int axis = 0; axis < view.ndim; ++axis) append(key, view.shape[axis]);
    key.append(1, ':').append(static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len));
  }
  PyBuffer_Release(&view);
  return plain;
}

}  // namespace

std::vector<masu::QuantilePoint> points_of(nb::handle first, nb::handle second, nb::handle weights, nb::handle kinds) {
  const Input previous(first);
  const Input next(second);
  const Input weight(weights);
  const Input kind(kinds);
  std::vector<masu::QuantilePoint> points;
  for (std::uint64_t i = 0; i < kind.count(); ++i) {
    points.push_back({static_cast<std::uint64_t>(previous.data<std::int64_t>()[i]),
                      static_cast<std::uint64_t>(next.data<std::int64_t>()[i]), weight.data<double>()[i],
                      static_cast<masu::QuantilePoint::Kind>(kind.data<std::uint8_t>()[i])});
  }
  return points;
}

std::shared_ptr<Points> points_for(const Question& question) {
  if (PyUnicode_CheckExact(question.method) == 0) return nullptr;
  std::string key;
  append(key, question.length);
  append(key, question.dtype);
  key += static_cast<char>((question.boolean ? 1 : 0) + (question.percent == Py_True ? 2 : 0));
  key.append(nb::borrow<nb::str>(question.method).c_str()).append(1, ':');
  if (!append_quantiles(key, question.q)) return nullptr;
  static auto& entries = *new std::unordered_map<std::string, std::shared_ptr<Points>>;
  constexpr std::size_t most_entries = 4096;
  const auto found = entries.find(key);
  if (found != entries.end()) return found->second;
  if (entries.size() >= most_entries) entries.clear();
  static std::uint64_t number = 0;
  auto points = std::make_shared<Points>();
  points->number = ++number;
  return entries.emplace(std::move(key), std::move(points)).first->second;
}

void answer(const Question& question, Points& points) {
  const char* const dtype = question.boolean ? "?" : numpy_code(question.dtype);
  const nb::object found = nb::borrow(question.ask)(nb::borrow(question.percent), question.length, dtype,
                                                    nb::borrow(question.q), nb::borrow(question.method));
  Points told;
  if (!found.is_none()) {
    told.list = points_of(found[0], found[1], found[2], found[3]);
    switch (nb::cast<int>(found[4])) {
      case 2: told.result = masu::Dtype::f16; break;
      case 4: told.result = masu::Dtype::f32; break;
      case 8: told.result = masu::Dtype::f64; break;
      default: break;
    }
    told.shape = nb::cast<std::vector<std::int64_t>>(found[5]);
    const nb::object doubles = found[6];
    const Input q(doubles);
    told.q.assign(q.data<double>(), q.data<double>() + q.count());
    told.method = masu::quantile_method_from_name(nb::borrow<nb::str>(found[7]).c_str());
  }
  if (points.known) return;  // another thread has asked meanwhile, and may be using it
  told.number = points.number;
  told.sought = points.sought;
  told.known = true;
  points = std::move(told);
}

}  // namespace masu_python

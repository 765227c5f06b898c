// SPDX-License-Identifier: Apache-2.0
// Medians and quantiles: of little data in host memory in one call, as NumPy's functions spend more time on their
// arguments than on the data; of the arrays of tensors.h, enqueued; and of rows in device memory. Null for what NumPy
// warns of, and for all that is not plain.
#include "elements/special_values.h"
#include "enqueue.h"
#include "quantile/quantile_plan.h"
#include "sort/numpy_order.h"

#include <masu/quantile.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace masu_python {
namespace {

// NumPy's answer for a q, a method and the length of a line.
struct Points {
  std::uint64_t number = 0;               // no two have the same
  unsigned sought = 0;                    // how often it was not known
  bool known = false;                     // NumPy has been asked
  std::vector<masu::QuantilePoint> list;  // empty where the call must go the usual way
  std::vector<std::int64_t> shape;        // of q
  std::optional<masu::Dtype> result;      // none: the array's
  masu::QuantileMethod method{};
  std::vector<double> q;  // empty where masu's formulas are not NumPy's
};

// A request for quantiles of lines of `length` elements. _quantile.plain_points(percent, length, dtype, q, method)
// returns what points_of() takes, bytes of a result or 0, q's shape, q as float64 and the method whose formulas compute
// it, or None.
struct Question {
  masu::Dtype dtype{};
  bool boolean = false;
  std::uint64_t length = 0;
  PyObject* q = nullptr;
  PyObject* method = nullptr;
  bool percent = false;
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

// From arrays of int64, int64, float64 and uint8.
std::vector<masu::QuantilePoint> points_of(const Input& first, const Input& second, const Input& weights,
                                           const Input& kinds) {
  std::vector<masu::QuantilePoint> points;
  for (std::uint64_t i = 0; i < kinds.count(); ++i) {
    points.push_back({static_cast<std::uint64_t>(first.data<std::int64_t>()[i]),
                      static_cast<std::uint64_t>(second.data<std::int64_t>()[i]), weights.data<double>()[i],
                      static_cast<masu::QuantilePoint::Kind>(kinds.data<std::uint8_t>()[i])});
  }
  return points;
}

// The entry of a question, which answer() fills; null where q is not plain: numbers of Python's, lists and tuples of
// them, and arrays of NumPy's. With the GIL.
std::shared_ptr<Points> points_for(const Question& question) {
  if (PyUnicode_CheckExact(question.method) == 0) return nullptr;
  std::string key;
  append(key, question.length);
  append(key, question.dtype);
  key += static_cast<char>((question.boolean ? 1 : 0) + (question.percent ? 2 : 0));
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
  static const nb::handle ask = nb::object(nb::module_::import_("masu._quantile").attr("plain_points")).release();
  const nb::object found =
      ask(question.percent, question.length, dtype, nb::borrow(question.q), nb::borrow(question.method));
  Points answered;
  if (!found.is_none()) {
    const auto part = [&](int i) { return Input(nb::object(found[i])); };
    answered.list = points_of(part(0), part(1), part(2), part(3));
    const auto bytes = nb::cast<std::size_t>(found[4]);
    const masu::DtypeNames* const computed = masu::find_dtype([&](const masu::DtypeNames& each) {
      return each.numpy_number >= 0 && masu::is_float(each.dtype) && masu::size_of(each.dtype) == bytes;
    });
    // What NumPy lacks is computed in another dtype and rounded once.
    if (computed != nullptr) {
      answered.result = computed->dtype == masu::arithmetic_dtype(question.dtype) ? question.dtype : computed->dtype;
    }
    answered.shape = nb::cast<std::vector<std::int64_t>>(found[5]);
    const nb::object doubles = found[6];
    const Input q(doubles);
    answered.q.assign(q.data<double>(), q.data<double>() + q.count());
    answered.method = masu::quantile_method_from_name(nb::borrow<nb::str>(found[7]).c_str());
  }
  if (points.known) return;  // another thread has asked meanwhile, and may be using it
  answered.number = points.number;
  answered.sought = points.sought;
  answered.known = true;
  points = std::move(answered);
}

// A C-contiguous array whose lines along an axis, or all of whose elements, are rows.
struct Rows : HostLines {
  masu::ArrayView data{};
  std::uint64_t number = 1;
  std::uint64_t length = 0;
  bool nan = false;               // some elements are NaN
  std::vector<std::byte> kept{};  // rows, or what is no NaN

  // False for what is empty, and for other axes than None and an int.
  bool find(const Arguments& values) {
    if (!HostLines::find(values[0], values.value(Name::axis)) || !array->is_plain()) return false;
    length = lines.length;
    number = lines.number();
    data = {dtype, masu::as_rows(masu::size_of(dtype), array->data, lines, kept), count};
    return true;
  }
  // Looks for NaNs, which one row leaves out if it `skips` them; false where nothing is left, and for several rows.
  bool look_for_nans(bool skips) {
    nan = masu::has_nan(data);
    if (!nan || !skips) return true;
    if (number != 1) return false;
    kept.resize(data.count * masu::size_of(data.dtype));
    length = masu::copy_numbers(data, kept.data());
    data = {data.dtype, kept.data(), length};
    nan = false;
    return length != 0;
  }
};

// A NumPy array whose shape is `front` and then the reduced one, or its element where it has no dimension.
// work(stream, data, result) fills it. A NaN in the data makes each result NaN, without work: a single one in the
// data's dtype, as NumPy takes it from the data. None where not all is finite, as NumPy may warn.
template <class Work>
PyObject* filled(Rows& rows, const std::vector<std::int64_t>& front, Dtype dtype, bool boolean, const Work& work) {
  if (rows.nan && (rows.number != 1 || !masu::is_float(dtype))) return nullptr;
  std::vector<std::int64_t> shape = front;
  const auto kept = rows.lines.reduced(false);
  shape.insert(shape.end(), kept.begin(), kept.end());
  if (rows.nan && shape.empty()) dtype = rows.dtype;
  nb::object result = new_numpy_array(shape, dtype, boolean);
  const masu::MutableArrayView output(dtype, data_of(result), any_numpy_array(result.ptr())->count());
  if (rows.nan) {
    masu::fill_with_nan(output);
  } else {
    const Device& cpu = this_cpu();
    const auto bytes = [](const auto& view) { return view.count * masu::size_of(view.dtype); };
    const auto there = Buffer<const std::byte>::wrap_host(
        cpu, std::span(static_cast<const std::byte*>(rows.data.data), bytes(rows.data)));
    auto to = Buffer<std::byte>::wrap_host(cpu, std::span(static_cast<std::byte*>(output.data), bytes(output)));
    masu::Stream stream(cpu, masu::Timing::off);
    brief_call(rows.data.count, [&] { work(stream, there, to); });
    if (!masu::all_finite(output)) return nullptr;
  }
  return (shape.empty() ? nb::object(result[nb::tuple()]) : result).release().ptr();
}

// Whether the first argument is little data that stays in host memory, and the arguments of the results are plain.
bool is_brief(const Arguments& values) {
  constexpr std::uint64_t brief = std::uint64_t{1} << 17;  // elements
  const NumpyArray* const a = any_numpy_array(values[0]);
  PyObject* const keepdims = values[Name::keepdims];
  return is_none(values[Name::out]) && (keepdims == nullptr || keepdims == Py_False) && a->count() <= brief &&
         stays_here(a->count());
}

}  // namespace

// NumPy leaves out NaNs along one of several axes by an arithmetic of its own.
PyObject* plain::median(const Arguments& values) {
  const bool skip = values.variant().skips_nan;
  if (!is_brief(values)) return nullptr;
  Rows rows;
  if (!rows.find(values)) return nullptr;
  if (skip && !rows.lines.flat && rows.array->dimensions != 1) return nullptr;
  if (!rows.look_for_nans(skip)) return nullptr;
  const Dtype dtype = rows.dtype;
  return filled(rows, {}, masu::is_float(dtype) ? dtype : Dtype::f64, false,
                [&](auto& stream, const auto& data, auto& result) {
                  masu::median(stream, data, dtype, result, {.rows = rows.number}).get();
                });
}

PyObject* plain::quantile(const Arguments& values) {
  if (!is_brief(values)) return nullptr;
  Rows rows;
  if (!rows.find(values)) return nullptr;
  const Dtype dtype = rows.dtype;
  const Question question{dtype,           rows.array->is_bool(),      rows.length,
                          values[Name::q], values.value(Name::method), values.variant().percent};
  const std::shared_ptr<Points> points = points_for(question);
  if (points == nullptr) return nullptr;
  if (!points->known) {
    // To ask takes longer than to compute: only what is asked for again.
    if (points->sought++ > 0) answer(question, *points);
    return nullptr;
  }
  if (points->list.empty()) return nullptr;
  const Dtype to = points->result.value_or(dtype);
  const std::uint64_t length = rows.length;
  if (!rows.look_for_nans(values.variant().skips_nan)) return nullptr;
  std::vector<masu::QuantilePoint> fewer;
  if (rows.length != length) {
    if (points->q.empty()) return nullptr;
    fewer = masu::quantile_points(points->method, rows.length, points->q);
  }
  const std::span<const masu::QuantilePoint> list = fewer.empty() ? points->list : fewer;
  return filled(rows, points->shape, to, rows.array->is_bool() && !points->result,
                [&](auto& stream, const auto& data, auto& result) {
                  masu::quantiles(stream, data, dtype, list, result, to, {.rows = rows.number}).get();
                });
}

Outcome enqueued::median(EnqueuedCall& call) {
  const Dtype dtype = call.x.dtype;
  call.output(masu::is_float(dtype) ? dtype : Dtype::f64, false,
              call.lines.reduced(call.arguments[Name::keepdims] == Py_True), call.arguments[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    const bool skips = call.arguments.variant().skips_nan && masu::is_float(dtype);
    const masu::QuantilePoint point = masu::median_point(std::max<std::uint64_t>(call.lines.length, 1));
    constexpr double any = 0.5;
    masu::FewQuantiles few{{&point, 1}};
    if (skips) few.q = {&any, 1};
    if (masu::few_quantiles(stream, data[0], dtype, call.lines, few, data[1], masu::dtype_of_median(dtype))) return;
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(dtype), data[0], call.lines, memory);
    const masu::SelectionOptions options{.rows = call.lines.number()};
    if (skips) masu::nan_median(stream, rows, dtype, data[1], options);
    else masu::median(stream, rows, dtype, data[1], options);
  });
}

Outcome enqueued::quantile(EnqueuedCall& call) {
  const Tensor& x = call.x;
  Lines& lines = call.lines;
  const Arguments& given = call.arguments;
  const Question question{
      x.dtype, x.boolean, lines.length, given[Name::q], given.value(Name::method), given.variant().percent};
  const std::shared_ptr<Points> points = points_for(question);
  if (points == nullptr || !is_none(given[Name::weights])) return Outcome::not_plain;
  if (!points->known) {
    answer(question, *points);
    if (!call.is_still()) return Outcome::again;
  }
  const bool skips = given.variant().skips_nan && masu::is_float(x.dtype);
  if (points->list.empty() || (skips && points->q.empty())) return Outcome::not_plain;
  std::vector<std::int64_t> shape = points->shape;
  const auto reduced = lines.reduced(given[Name::keepdims] == Py_True);
  shape.insert(shape.end(), reduced.begin(), reduced.end());
  if (shape.size() > most_dimensions) return Outcome::not_plain;
  const Dtype result = points->result.value_or(x.dtype);
  call.option(points->number);
  call.output(result, x.boolean && !points->result, shape, given[Name::out]);
  return call.finish([&](Stream& stream, Buffers data) {
    masu::FewQuantiles few{points->list};
    if (skips) few = {{}, points->method, points->q};
    if (masu::few_quantiles(stream, data[0], x.dtype, lines, few, data[1], result)) return;
    std::optional<Buffer<std::byte>> memory;
    const Buffer<std::byte>& rows = masu::as_rows(stream, masu::size_of(x.dtype), data[0], lines, memory);
    const masu::SelectionOptions options{.rows = lines.number()};
    if (skips) masu::nan_quantiles(stream, rows, x.dtype, points->method, points->q, data[1], result, options);
    else masu::quantiles(stream, rows, x.dtype, points->list, data[1], result, options);
  });
}

namespace {

// On a device: the medians of rows, and the quantiles at points; with `nan` of what is no NaN.
void medians(const Input& input, const Output& output, std::uint64_t rows, bool nan) {
  call_there(input, [&](masu::Stream& stream) {
    const masu::SelectionOptions options{.rows = rows};
    if (nan) masu::nan_median(stream, input.buffer(), input.dtype(), output.buffer(), options);
    else masu::median(stream, input.buffer(), input.dtype(), output.buffer(), options);
  });
}

void nan_quantiles(const Input& input, const Output& output, std::uint64_t rows, const char* method, const Input& q) {
  call_there(input, [&](masu::Stream& stream) {
    masu::nan_quantiles(stream, input.buffer(), input.dtype(), masu::quantile_method_from_name(method),
                        {q.data<double>(), q.count()}, output.buffer(), output.dtype(), {.rows = rows});
  });
}

void quantiles(const Input& input, const Output& output, std::uint64_t rows, const Input& first, const Input& second,
               const Input& weights, const Input& kinds) {
  const std::vector<masu::QuantilePoint> points = points_of(first, second, weights, kinds);
  call_there(input, [&](masu::Stream& stream) {
    masu::quantiles(stream, input.buffer(), input.dtype(), points, output.buffer(), output.dtype(), {.rows = rows});
  });
}

// What points_of() takes, by the formulas of a method.
nb::tuple points_of_method(const char* method, std::uint64_t length, const Input& q) {
  const auto points =
      masu::quantile_points(masu::quantile_method_from_name(method), length, {q.data<double>(), q.count()});
  nb::list previous;
  nb::list next;
  nb::list weights;
  nb::list kinds;
  for (const masu::QuantilePoint& point : points) {
    previous.append(point.previous);
    next.append(point.next);
    weights.append(point.weight);
    kinds.append(static_cast<int>(point.kind));
  }
  return nb::make_tuple(previous, next, weights, kinds);
}

}  // namespace

void register_quantiles(nb::module_& m) {
  m.def("medians", taking(medians));
  m.def("nan_quantiles", taking(nan_quantiles));
  m.def("points_of_method", taking(points_of_method));
  m.def("quantiles", taking(quantiles));
}

}  // namespace masu_python

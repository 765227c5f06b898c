// SPDX-License-Identifier: Apache-2.0
// Plain calls of dot products, means, variances and standard deviations of arrays of NumPy's.
#include "arrays.h"
#include "function.h"
#include "host_lines.h"
#include "lines.h"
#include "module.h"
#include "short_sum.h"

#include <masu/device.h>
#include <masu/sum.h>
#include <masu/transpose.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::Dtype;

constexpr std::uint64_t brief_work = 16384;  // elements: so little work that the GIL is kept

template <class F>
auto made(std::uint64_t count, const F& work) {
  return count <= brief_work ? work() : call(work);
}

masu::SumOptions options_of(Dtype dtype, std::uint64_t rows) {
  masu::SumOptions options{.rows = rows, .wrap = true};
  options.result = masu::is_float(dtype) ? dtype : Dtype::f64;
  return options;
}

PyObject* scalar_of(Dtype dtype, double value) {
  if (dtype != Dtype::f16) return new_numpy_scalar(dtype, value);
  static const nb::handle half = nb::handle(numpy_function("float16"));
  return half(value).release().ptr();
}

// The lines of which means and variances are made: rows in memory, or a copy of them.
struct SummedLines {
  masu::ArrayView data;
  std::uint64_t rows = 1;
  std::vector<Py_ssize_t> shape;  // of the results
  std::vector<std::byte> copy;

  // `axis`: None, the last one, or the first of two.
  bool find(const NumpyArray& a, Dtype dtype, PyObject* axis) {
    const std::uint64_t count = a.count();
    data = {dtype, a.data, count};
    if (is_none(axis)) return true;
    std::int64_t number = 0;
    if (!integer(axis, number)) return false;
    if (number < 0) number += a.dimensions;
    const auto lengths = a.shape();
    if (number == a.dimensions - 1) {
      shape.assign(lengths.begin(), lengths.end() - 1);
      rows = count / static_cast<std::uint64_t>(lengths.back());
      return true;
    }
    if (number != 0 || a.dimensions != 2 || count > brief_work) return false;
    shape.assign(1, lengths[1]);
    rows = static_cast<std::uint64_t>(lengths[1]);
    const std::size_t size = masu::size_of(dtype);
    copy.resize(count * size);
    masu::transpose(this_cpu(), masu::ConstRecordsView(static_cast<const std::byte*>(a.data), size, count),
                    count / rows, rows, masu::RecordsView(copy.data(), size, count));
    data.data = copy.data();
    return true;
  }
};

enum class Moment { mean, variance, deviation };

PyObject* moment(const Given& given, Moment which) {
  static const Parameters of_mean(2, {"a", "axis"});
  static const Parameters of_spread(5, {"a", "axis", "dtype", "out", "ddof"});
  Parameters::Values values{};
  if (!(which == Moment::mean ? of_mean : of_spread).take(given, values)) return nullptr;
  std::int64_t ddof = 0;
  if (which != Moment::mean && (!is_none(values[2]) || !is_none(values[3]))) return nullptr;
  if (which != Moment::mean && values[4] != nullptr && !integer(values[4], ddof)) return nullptr;
  const NumpyArray* const a = numpy_array(values[0]);
  Dtype dtype{};
  if (a == nullptr || !a->is_plain() || !dtype_of(*a, dtype) || dtype == Dtype::f16) return nullptr;
  const std::uint64_t count = a->count();
  SummedLines lines;
  std::int64_t axis = 0;
  if (which == Moment::mean && masu::is_float(dtype) && a->dimensions == 2 && count != 0 && count <= brief_work &&
      !is_none(values[1]) && integer(values[1], axis) && (axis == 0 || axis == -2) && stays_here(count)) {
    const std::span<const Py_ssize_t> columns = a->shape().subspan(1);
    nb::object result = nb::steal(new_numpy_array(columns, dtype));
    if (!result.is_valid()) return nullptr;
    const auto number = static_cast<std::uint64_t>(columns[0]);
    masu::mean_columns({dtype, a->data, count}, number, masu::MutableArrayView{dtype, data_of(result.ptr()), number});
    return result.release().ptr();
  }
  if (count == 0 || a->dimensions == 0 || !stays_here(count) || !lines.find(*a, dtype, values[1])) return nullptr;
  if (ddof < 0 || static_cast<std::uint64_t>(ddof) >= count / lines.rows) return nullptr;
  masu::SumOptions options = options_of(dtype, lines.rows);
  options.ddof = static_cast<std::uint64_t>(ddof);
  const masu::SumResult found = made(count, [&] {
    switch (which) {
      case Moment::mean: return masu::mean(this_cpu(), lines.data, options);
      case Moment::variance: return masu::variance(this_cpu(), lines.data, options);
      case Moment::deviation: break;
    }
    return masu::standard_deviation(this_cpu(), lines.data, options);
  });
  if (lines.shape.empty()) return new_numpy_scalar(options.result, found.value());
  PyObject* const result = new_numpy_array(lines.shape, options.result);
  if (result == nullptr) return nullptr;
  const auto put = [&](auto* to) {
    for (std::uint64_t row = 0; row < lines.rows; ++row) {
      to[row] = static_cast<std::remove_pointer_t<decltype(to)>>(found.value(row));
    }
  };
  if (options.result == Dtype::f32) put(static_cast<float*>(data_of(result)));
  else put(static_cast<double*>(data_of(result)));
  return result;
}

}  // namespace

// Of integers NumPy's; of two lines of floats exact.
PyObject* plain::dot(const Given& given) {
  static const Parameters parameters(2, {"a", "b"});
  Parameters::Values values{};
  if (!parameters.take(given, values) || values[1] == nullptr) return nullptr;
  const NumpyArray* const a = numpy_array(values[0]);
  const NumpyArray* const b = numpy_array(values[1]);
  if (a == nullptr || b == nullptr || a->dtype != b->dtype) return nullptr;
  if (a->is_integer() || a->is_bool()) {
    static PyObject* const method = PyUnicode_InternFromString("dot");
    return PyObject_VectorcallMethod(method, values.data(), 2, nullptr);
  }
  Dtype dtype{};
  const std::uint64_t count = a->count();
  if (!a->is_float() || !a->is_plain() || !b->is_plain() || a->dimensions != 1 || b->dimensions != 1 || count == 0 ||
      count != b->count() || !stays_here(count) || !dtype_of(*a, dtype)) {
    return nullptr;
  }
  const masu::SumResult product = made(count, [&] {
    return masu::dot(this_cpu(), {dtype, a->data, count}, {dtype, b->data, count}, options_of(dtype, 1));
  });
  return scalar_of(dtype, product.value());
}

namespace {

// The running sums of `lines` lines of `length` elements, each `step` from the one before it, whose first ones are
// `next` from each other. False where one is not certain.
template <class T>
bool running_sums_of(const T* x, T* sums, std::uint64_t lines, std::uint64_t length, std::uint64_t step,
                     std::uint64_t next) {
  std::vector<T> line(step == 1 ? 0 : length);
  for (std::uint64_t i = 0; i < lines; ++i) {
    const T* const from = x + i * next;
    T* const to = sums + i * next;
    if (step == 1) {
      if (!running_sums(from, length, to)) return false;
      continue;
    }
    for (std::uint64_t k = 0; k < length; ++k) line[k] = from[k * step];
    if (!running_sums(line.data(), length, line.data())) return false;
    for (std::uint64_t k = 0; k < length; ++k) to[k * step] = line[k];
  }
  return true;
}

}  // namespace

// Of integers NumPy's; of few floats along the last axis, or the first of two.
PyObject* plain::cumsum(const Given& given) {
  static const Parameters parameters(2, {"a", "axis"});
  Parameters::Values values{};
  if (!parameters.take(given, values)) return nullptr;
  const NumpyArray* const a = numpy_array(values[0]);
  if (a == nullptr) return nullptr;
  if (a->is_integer() || a->is_bool()) {
    static PyObject* const method = PyUnicode_InternFromString("cumsum");
    PyObject* const of[] = {values[0], values[1] == nullptr ? Py_None : values[1]};
    return PyObject_VectorcallMethod(method, of, 2, nullptr);
  }
  Dtype dtype{};
  const std::uint64_t count = a->count();
  if (!a->is_plain() || !dtype_of(*a, dtype) || (dtype != Dtype::f32 && dtype != Dtype::f64) || a->dimensions == 0 ||
      count == 0 || count > short_sum_elements || !stays_here(count)) {
    return nullptr;
  }
  std::int64_t axis = a->dimensions - 1;
  if (is_none(values[1])) {
    if (a->dimensions != 1) return nullptr;
  } else if (!integer(values[1], axis)) {
    return nullptr;
  }
  if (axis < 0) axis += a->dimensions;
  const auto shape = a->shape();
  const bool last = axis == a->dimensions - 1;
  if (!last && (axis != 0 || a->dimensions != 2)) return nullptr;
  const auto length = static_cast<std::uint64_t>(shape[static_cast<std::size_t>(axis)]);
  const std::uint64_t lines = count / length;
  nb::object result = nb::steal(new_numpy_array(shape, dtype));
  if (!result.is_valid()) return nullptr;
  const auto sum = [&]<class T>(const T* x) {
    return running_sums_of(x, static_cast<T*>(data_of(result.ptr())), lines, length, last ? 1 : lines,
                           last ? length : 1);
  };
  const bool found =
      dtype == Dtype::f32 ? sum(static_cast<const float*>(a->data)) : sum(static_cast<const double*>(a->data));
  return found ? result.release().ptr() : nullptr;
}

PyObject* plain::mean(const Given& given) {
  return moment(given, Moment::mean);
}

PyObject* plain::var(const Given& given) {
  return moment(given, Moment::variance);
}

PyObject* plain::std(const Given& given) {
  return moment(given, Moment::deviation);
}

}  // namespace masu_python

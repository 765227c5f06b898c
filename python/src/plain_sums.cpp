// SPDX-License-Identifier: Apache-2.0
// Plain calls of sums, dot products, means, variances and standard deviations of arrays of NumPy's.
#include "arrays.h"
#include "function.h"
#include "lines.h"
#include "module.h"
#include "short_sum.h"
#include "sum/compensated.h"

#include <masu/convert.h>
#include <masu/sum.h>
#include <masu/transpose.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace masu_python {
namespace {

using masu::Dtype;

// Exact running sums of lines side by side, each rounded once: a vector of the processor's has as many lines as lanes.

// Doubles side by side, as the compiler has them for every processor.
constexpr std::size_t lanes = 8;
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));
using Flags = std::int64_t __attribute__((vector_size(lanes * sizeof(double))));

// masu::Compensated in each lane.
struct Sums {
  Lanes sum{};
  Lanes error{};
  Lanes lost{};
};

// As masu::add_exactly(), and masu::Compensated::add() without that last magnitude.
#define MASU_ADD_EXACTLY(total, x, rest)           \
  {                                                \
    const Lanes before = total;                    \
    total = before + (x);                          \
    const Lanes part = total - before;             \
    rest = (before - (total - part)) + ((x)-part); \
  }
#define MASU_MAGNITUDE(x) reinterpret_cast<Lanes>(reinterpret_cast<Flags>(x) & magnitude)
#define MASU_ADD(at, x)                              \
  {                                                  \
    Lanes rest;                                      \
    MASU_ADD_EXACTLY((at).sum, x, rest)              \
    Lanes rest_of_rest;                              \
    MASU_ADD_EXACTLY((at).error, rest, rest_of_rest) \
    (at).lost += MASU_MAGNITUDE(rest_of_rest);       \
  }
constexpr std::int64_t magnitude = 0x7fffffffffffffff;

// Adds rows that are `stride` apart.
MASU_FOR_EVERY_PROCESSOR void add_rows(const double* x, std::uint64_t rows, std::uint64_t stride, Sums& sums) {
  Sums at = sums;
  for (std::uint64_t row = 0; row < rows; ++row) {
    Lanes number;
    std::memcpy(&number, x + row * stride, sizeof number);
    MASU_ADD(at, number)
  }
  sums = at;
}

// The same, and writes each sum as masu::certain() rounds it; false where that is not certain.
MASU_FOR_EVERY_PROCESSOR bool run_rows(const double* x, std::uint64_t rows, std::uint64_t stride, Sums& sums,
                                       double* results) {
  Sums at = sums;
  Flags unsure{};
  for (std::uint64_t row = 0; row < rows; ++row) {
    Lanes number;
    std::memcpy(&number, x + row * stride, sizeof number);
    MASU_ADD(at, number)
    Lanes total = at.sum;
    Lanes rest;
    MASU_ADD_EXACTLY(total, at.error, rest)
    const Lanes bound = 2 * at.lost + 0x1p-900;  // more than masu::Compensated has, so that no product is subnormal
    const Lanes wide = bound + (MASU_MAGNITUDE(rest) + bound) * 0x1p-50;
    const Flags is_open = -reinterpret_cast<Flags>(at.lost) >> 63;  // where anything is lost
    const Flags above = reinterpret_cast<Flags>(total + (rest + wide)) ^ reinterpret_cast<Flags>(total);
    const Flags below = reinterpret_cast<Flags>(total + (rest - wide)) ^ reinterpret_cast<Flags>(total);
    unsure |= is_open & (above | below);
    total += 0.0;
    std::memcpy(results + row * stride, &total, sizeof total);
  }
  sums = at;
  bool sure = true;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    // What overflows on the way, or is no number, stays so.
    sure = sure && unsure[lane] == 0 && std::fabs(at.sum[lane]) <= 0x1p1000 && std::fabs(at.error[lane]) <= 0x1p1000;
  }
  return sure;
}

void transpose(const double* from, std::uint64_t height, std::uint64_t width, double* to) {
  masu::transpose(this_cpu(), masu::ConstRecordsView(from, sizeof *from, height * width), height, width,
                  masu::RecordsView(to, sizeof *to, height * width));
}

// The running sums of the columns of a matrix, elsewhere. False where one is not certain, and where there are too few.
bool running_columns(const double* x, std::uint64_t rows, std::uint64_t columns, double* sums) {
  if (columns < lanes) return false;
  for (std::uint64_t c = 0; c < columns; c += lanes) {
    const std::uint64_t first = std::min(c, columns - lanes);  // the last ones may be added twice
    Sums at;
    if (!run_rows(x + first, rows, columns, at, sums + first)) return false;
  }
  return true;
}

// Those of rows, and of one line, in as many pieces side by side as pay.
bool running_lines(const double* x, std::uint64_t lines, std::uint64_t length, double* sums) {
  constexpr std::uint64_t together = 4 * lanes;
  if (lines < lanes) return false;
  std::vector<double> columns(2 * together * length);
  double* const results = columns.data() + together * length;
  for (std::uint64_t line = 0; line < lines; line += together) {
    const std::uint64_t first = std::min(line, lines - std::min(lines, together));  // the last ones may be added twice
    const std::uint64_t here = std::min(lines, together);
    transpose(x + first * length, here, length, columns.data());
    if (!running_columns(columns.data(), length, here, results)) return false;
    transpose(results, length, here, sums + first * length);
  }
  return true;
}

bool running_line(const double* x, std::uint64_t count, double* sums) {
  constexpr std::uint64_t pieces = 2 * lanes;
  const std::uint64_t length = count / pieces;
  const std::uint64_t even = length * pieces;
  std::vector<double> columns(2 * even);
  double* const results = columns.data() + even;
  transpose(x, pieces, length, columns.data());
  masu::Compensated all;
  std::array<Sums, 2> in_front;  // what stands in front of each piece
  for (std::size_t half = 0; half < in_front.size(); ++half) {
    Sums totals;
    add_rows(columns.data() + half * lanes, length, pieces, totals);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      in_front[half].sum[lane] = all.sum;
      in_front[half].error[lane] = all.error;
      in_front[half].lost[lane] = all.lost;
      all.add(totals.sum[lane]);
      all.add_error(totals.error[lane]);
      all.lost += totals.lost[lane];
    }
  }
  for (std::size_t half = 0; half < in_front.size(); ++half) {
    if (!run_rows(columns.data() + half * lanes, length, pieces, in_front[half], results + half * lanes)) return false;
  }
  transpose(results, length, pieces, sums);
  for (std::uint64_t i = even; i < count; ++i) {
    all.add(x[i]);
    const auto rounded = all.rounded<double>();
    if (!rounded) return false;
    sums[i] = *rounded;
  }
  return true;
}

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

// The lines of an array that are reduced to one number each.
class Reduction {
 public:
  // False for what is not plain: much data with gaps, other axes than None and an int. `keep`: null or a bool.
  // `columns`: whether many elements may be columns.
  bool find(PyObject* array, PyObject* axis, PyObject* keep, bool columns) {
    const NumpyArray* a = numpy_array(array);
    if (a == nullptr || !dtype_of(*a, dtype_) || (keep != nullptr && PyBool_Check(keep) == 0)) return false;
    const std::uint64_t count = a->count();
    if (!stays_here(count)) return false;
    if (!a->is_plain() && (count > brief_work || !a->is_native())) return false;
    if (!host_lines_of(a->shape(), axis == nullptr ? Py_None : axis, lines_)) return false;
    if (lines_.inner != 1 && count > brief_work && !(columns && are_columns())) return false;
    data_ = a->data;
    count_ = count;
    if (!a->is_plain()) {
      thread_local std::vector<std::byte> without_gaps;  // as memory that was just allocated takes longer to be written
      without_gaps.resize(std::max(without_gaps.size(), count * masu::size_of(dtype_)));
      masu::copy_elements(masu::size_of(dtype_), a->elements(), without_gaps.data());
      data_ = without_gaps.data();
    }
    shape_ = lines_.reduced(keep == Py_True);
    return true;
  }
  [[nodiscard]] Dtype dtype() const { return dtype_; }
  [[nodiscard]] std::uint64_t length() const { return lines_.length; }
  [[nodiscard]] std::uint64_t rows() const { return lines_.number(); }
  // Whether they are the columns of one matrix of f32 or f64.
  [[nodiscard]] bool are_columns() const {
    return lines_.outer == 1 && lines_.inner != 1 && (dtype_ == Dtype::f32 || dtype_ == Dtype::f64);
  }
  // Calls work(elements, columns, results) for columns.
  template <class F>
  PyObject* of_columns(const F& work) const {
    nb::object result = nb::steal(new_numpy_array(shape_, dtype_));
    if (!result.is_valid()) return nullptr;
    const masu::MutableArrayView to{dtype_, data_of(result.ptr()), rows()};
    made(count_, [&] { work(masu::ArrayView(dtype_, data_, count_), rows(), to); });
    return result.release().ptr();
  }
  // The results that work(rows) makes, a SumResult of f64 that are rounded to `rounded`.
  template <class F>
  PyObject* of_rows(Dtype rounded, const F& work) const {
    std::vector<std::byte> memory;
    const masu::ArrayView data(dtype_, masu::as_rows(masu::size_of(dtype_), data_, lines_, memory), count_);
    const masu::SumResult found = made(count_, [&] { return work(data); });
    if (shape_.empty()) return scalar_of(rounded, found.value());
    nb::object result = nb::steal(new_numpy_array(shape_, rounded));
    if (!result.is_valid()) return nullptr;
    const auto put = [&](auto* to) {
      for (std::uint64_t row = 0; row < rows(); ++row) {
        to[row] = static_cast<std::remove_pointer_t<decltype(to)>>(found.value(row));
      }
    };
    void* const to = data_of(result.ptr());
    if (rounded == Dtype::f32) {
      put(static_cast<float*>(to));
    } else if (rounded == Dtype::f64) {
      put(static_cast<double*>(to));
    } else {  // which numbers of f64 are already
      std::vector<double> halves(rows());
      put(halves.data());
      masu::convert(this_cpu(), masu::ArrayView(halves), masu::MutableArrayView{rounded, to, rows()}, {});
    }
    return result.release().ptr();
  }

 private:
  const void* data_ = nullptr;
  std::uint64_t count_ = 0;
  Dtype dtype_{};
  Lines lines_;
  std::span<const std::int64_t> shape_;  // of the results
};

enum class Moment { mean, variance, deviation };

PyObject* moment(const Arguments& values, Moment which) {
  const bool is_mean = which == Moment::mean;
  if (!is_none(values[2]) || !is_none(values[3])) return nullptr;
  std::int64_t ddof = 0;
  if (!is_mean && values[4] != nullptr && !integer(values[4], ddof)) return nullptr;
  Reduction reduction;
  if (!reduction.find(values[0], values[1], values[is_mean ? 4 : 5], is_mean)) return nullptr;
  if (ddof < 0 || static_cast<std::uint64_t>(ddof) >= reduction.length()) return nullptr;
  if (is_mean && reduction.are_columns()) return reduction.of_columns(masu::mean_columns);
  masu::SumOptions options = options_of(reduction.dtype(), reduction.rows());
  options.ddof = static_cast<std::uint64_t>(ddof);
  return reduction.of_rows(options.result, [&](const masu::ArrayView& data) {
    switch (which) {
      case Moment::mean: return masu::mean(this_cpu(), data, options);
      case Moment::variance: return masu::variance(this_cpu(), data, options);
      case Moment::deviation: break;
    }
    return masu::standard_deviation(this_cpu(), data, options);
  });
}

// The elements where a mask of the same shape is true, both plain.
nb::object chosen(PyObject* array, PyObject* where) {
  const NumpyArray* const a = numpy_array(array);
  const NumpyArray* const mask = numpy_array(where);
  if (a == nullptr || mask == nullptr || !mask->is_bool() || !std::ranges::equal(a->shape(), mask->shape())) return {};
  return nb::steal(PyObject_GetItem(array, where));
}

// Of integers as NumPy adds them, unless there are so many that threads pay.
PyObject* sum_of_integers(const NumpyArray& a, const Arguments& values) {
  constexpr std::uint64_t wide_pay = 256;
  constexpr std::uint64_t narrow_pay = 2;
  static PyObject* const reduce = nb::object(nb::module_::import_("numpy").attr("add").attr("reduce")).release().ptr();
  static PyObject* const names[] = {PyUnicode_InternFromString("keepdims"), PyUnicode_InternFromString("initial"),
                                    PyUnicode_InternFromString("where")};
  Dtype dtype{};
  if (!dtype_of(a, dtype) || (values[4] != nullptr && PyBool_Check(values[4]) == 0)) return nullptr;
  const bool rarely = values[4] != nullptr || values[5] != nullptr || values[6] != nullptr;
  const bool wide = masu::size_of(dtype) == 8 || !a.is_plain();  // masu copies what has gaps
  if (is_none(values[1]) && !rarely && a.count() >= small_limit(wide ? wide_pay : narrow_pay)) return nullptr;
  PyObject* arguments[5] = {values[0], values[1] == nullptr ? Py_None : values[1]};
  PyObject* given[3];
  std::size_t more = 0;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (values[4 + i] == nullptr) continue;
    given[more] = names[i];
    arguments[2 + more++] = values[4 + i];
  }
  const nb::object named = nb::steal(more == 0 ? nullptr : PyTuple_New(static_cast<Py_ssize_t>(more)));
  for (std::size_t i = 0; i < more; ++i) PyTuple_SetItem(named.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(given[i]));
  return PyObject_Vectorcall(reduce, arguments, 2, named.ptr());
}

}  // namespace

// Of integers NumPy's; of floats exact.
PyObject* plain::sum(const Arguments& values) {
  if (!is_none(values[2]) || !is_none(values[3])) return nullptr;
  const NumpyArray* const a = numpy_array(values[0]);
  if (a == nullptr) return nullptr;
  if (a->is_integer() || a->is_bool()) return sum_of_integers(*a, values);
  if (values[5] != nullptr) return nullptr;
  PyObject* array = values[0];
  nb::object part;
  if (values[6] != nullptr) {
    if (!is_none(values[1]) || values[4] != nullptr || a->count() > brief_work) return nullptr;
    part = chosen(array, values[6]);
    if (!part.is_valid()) return nullptr;
    array = part.ptr();
  }
  Reduction reduction;
  if (!reduction.find(array, values[1], values[4], true)) return nullptr;
  if (reduction.are_columns()) return reduction.of_columns(masu::sum_columns);
  const masu::SumOptions options = options_of(reduction.dtype(), reduction.rows());
  return reduction.of_rows(options.result,
                           [&](const masu::ArrayView& data) { return masu::sum(this_cpu(), data, options); });
}

// Of integers NumPy's; of two lines of floats exact.
PyObject* plain::dot(const Arguments& values) {
  const NumpyArray* const a = numpy_array(values[0]);
  const NumpyArray* const b = numpy_array(values[1]);
  if (a == nullptr || b == nullptr || a->dtype != b->dtype) return nullptr;
  if (a->is_integer() || a->is_bool()) {
    static PyObject* const method = PyUnicode_InternFromString("dot");
    return PyObject_VectorcallMethod(method, values.values().data(), 2, nullptr);
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

// Of doubles by lines side by side; false where there are too few, and where a sum is not certain.
bool run_doubles(const double* x, const Lines& lines, double* sums) {
  constexpr std::uint64_t worth = 512;  // elements
  if (lines.number() * lines.length < worth) return false;
  if (lines.number() == 1) return running_line(x, lines.length, sums);
  if (lines.inner != 1) return running_columns(x, lines.length, lines.inner, sums);
  return running_lines(x, lines.outer, lines.length, sums);
}

}  // namespace

// Of integers NumPy's; of few floats along the last axis, or the first of two.
PyObject* plain::cumsum(const Arguments& values) {
  const NumpyArray* const a = numpy_array(values[0]);
  if (a == nullptr) return nullptr;
  if (a->is_integer() || a->is_bool()) {
    static PyObject* const method = PyUnicode_InternFromString("cumsum");
    PyObject* const of[] = {values[0], values[1] == nullptr ? Py_None : values[1]};
    return PyObject_VectorcallMethod(method, of, 2, nullptr);
  }
  Dtype dtype{};
  const std::uint64_t count = a->count();
  if (!a->is_plain() || !dtype_of(*a, dtype) || a->dimensions == 0 || count == 0 || count > short_sum_elements ||
      !stays_here(count)) {
    return nullptr;
  }
  Lines lines;
  if (!host_lines_of(a->shape(), values[1] == nullptr ? Py_None : values[1], lines)) return nullptr;
  if (lines.flat && a->dimensions != 1) return nullptr;
  if (lines.inner != 1 && lines.outer != 1) return nullptr;
  nb::object result = nb::steal(new_numpy_array(a->shape(), dtype));
  if (!result.is_valid()) return nullptr;
  if (dtype == Dtype::f64 &&
      run_doubles(static_cast<const double*>(a->data), lines, static_cast<double*>(data_of(result.ptr())))) {
    return result.release().ptr();
  }
  const auto sum = [&]<class T>(const T* x) {
    return running_sums_of(x, static_cast<T*>(data_of(result.ptr())), lines.number(), lines.length, lines.inner,
                           lines.inner == 1 ? lines.length : 1);
  };
  const bool found = dtype == Dtype::f16   ? sum(static_cast<const masu::Half*>(a->data))
                     : dtype == Dtype::f32 ? sum(static_cast<const float*>(a->data))
                                           : sum(static_cast<const double*>(a->data));
  return found ? result.release().ptr() : nullptr;
}

PyObject* plain::mean(const Arguments& values) {
  return moment(values, Moment::mean);
}

PyObject* plain::var(const Arguments& values) {
  return moment(values, Moment::variance);
}

PyObject* plain::std(const Arguments& values) {
  return moment(values, Moment::deviation);
}

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// Plain calls of sums, dot products, means, variances and standard deviations of arrays of NumPy's.
#include "arrays.h"
#include "elements/stored_float.h"
#include "function.h"
#include "lines.h"
#include "module.h"
#include "scan/scan_cpu.h"
#include "sum/sum_cpu.h"

#include <masu/sum.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace masu_python {
namespace {

using masu::Dtype;

constexpr std::uint64_t brief_work = 16384;
constexpr std::uint64_t few_running = std::uint64_t{1} << 17;

using SumFunction = masu::SumRule::Function;

masu::SumRule rule_of(SumFunction function, Dtype dtype, std::uint64_t ddof = 0, double addend = 0) {
  return {function, dtype, masu::is_float(dtype) ? dtype : Dtype::f64, ddof, masu::addend_of(dtype, addend)};
}

// A scalar of NumPy's, of a float that write(memory) writes.
template <class F>
PyObject* new_scalar(Dtype dtype, const F& write) {
  std::uint64_t element = 0;
  write(&element);
  return new_numpy_scalar(dtype, &element);
}

// The lines of an array that are reduced to one number each.
class Reduction {
 public:
  // False for what is not plain: much data with gaps, other axes than None and an int. `keep`: null or a bool.
  bool find(PyObject* array, PyObject* axis, PyObject* keep) {
    if (!lines_.find(array, axis == nullptr ? Py_None : axis) || (keep != nullptr && PyBool_Check(keep) == 0)) {
      return false;
    }
    const bool is_much = lines_.count > brief_work;
    const bool is_plain = lines_.array->is_plain();
    if (!stays_here(lines_.count) || (!is_plain && (is_much || !lines_.array->is_native()))) return false;
    data_ = lines_.elements();
    if (!is_plain) {
      thread_local std::vector<std::byte> without_gaps;  // as memory that was just allocated takes longer to be written
      const std::size_t size = masu::size_of(data_.dtype);
      without_gaps.resize(std::max(without_gaps.size(), data_.count * size));
      masu::copy_elements(size, lines_.array->elements(), without_gaps.data());
      data_.data = without_gaps.data();
    }
    shape_ = lines_.lines.reduced(keep == Py_True);
    return true;
  }
  [[nodiscard]] std::uint64_t length() const { return lines_.lines.length; }
  // A number as a float of the array's dtype.
  [[nodiscard]] double converted(double number) const { return masu::rounded_to(data_.dtype, number); }
  // The results of a function: an array, or a scalar where there is one.
  [[nodiscard]] PyObject* reduced(SumFunction function, std::uint64_t ddof = 0, double addend = 0) const {
    const masu::SumRule rule = rule_of(function, data_.dtype, ddof, addend);
    const Lines& lines = lines_.lines;
    const auto write = [&](void* to) {
      brief_call(data_.count, [&] { return masu::sum_lines(rule, data_, data_, lines.number(), lines.inner, to); });
    };
    if (shape_.empty()) return new_scalar(rule.result, write);
    nb::object result = new_numpy_array(shape_, rule.result);
    write(data_of(result));
    return result.release().ptr();
  }

 private:
  HostLines lines_;
  masu::ArrayView data_;                 // without gaps
  std::span<const std::int64_t> shape_;  // of the results
};

}  // namespace

PyObject* plain::moment(const Arguments& values) {
  constexpr SumFunction functions[] = {SumFunction::sum, SumFunction::mean, SumFunction::variance,
                                       SumFunction::standard_deviation};
  const SumFunction function = functions[static_cast<std::size_t>(values.variant().total)];
  const bool is_mean = function == SumFunction::mean;
  if (!is_none(values[2]) || !is_none(values[3])) return nullptr;
  std::int64_t ddof = 0;
  if (!is_mean && values[4] != nullptr && !integer(values[4], ddof)) return nullptr;
  Reduction reduction;
  if (!reduction.find(values[0], values[1], values[is_mean ? 4 : 5])) return nullptr;
  if (ddof < 0 || static_cast<std::uint64_t>(ddof) >= reduction.length()) return nullptr;
  return reduction.reduced(function, static_cast<std::uint64_t>(ddof));
}

namespace {

// The elements where a mask of the same shape is true, both plain.
nb::object chosen(PyObject* array, PyObject* where) {
  const NumpyArray* const a = numpy_array(array);
  const NumpyArray* const mask = numpy_array(where);
  if (a == nullptr || mask == nullptr || !mask->is_bool() || !std::ranges::equal(a->shape(), mask->shape())) return {};
  return nb::steal(PyObject_GetItem(array, where));
}

// Adds integers as NumPy does, unless there are so many that threads pay.
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

// Integers: NumPy's sum. Floats: the exact sum.
PyObject* plain::sum(const Arguments& values) {
  if (!is_none(values[2]) || !is_none(values[3])) return nullptr;
  const NumpyArray* const a = numpy_array(values[0]);
  if (a == nullptr) return nullptr;
  if (a->is_integer() || a->is_bool()) return sum_of_integers(*a, values);
  double addend = 0;
  bool is_int = false;
  if (values[5] != nullptr && !plain_number(values[5], addend, is_int)) return nullptr;
  PyObject* array = values[0];
  nb::object part;
  if (values[6] != nullptr) {
    if (!is_none(values[1]) || values[4] != nullptr || a->count() > brief_work) return nullptr;
    part = chosen(array, values[6]);
    if (!part.is_valid()) return nullptr;
    array = part.ptr();
  }
  Reduction reduction;
  if (!reduction.find(array, values[1], values[4]) || !Py_IS_FINITE(reduction.converted(addend))) return nullptr;
  return reduction.reduced(SumFunction::sum, 0, addend);
}

// Integers: NumPy's product. Two lines of floats: the exact one.
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
  const masu::SumRule rule = rule_of(SumFunction::dot, dtype);
  return new_scalar(dtype, [&](void* to) {
    brief_call(count, [&] {
      return masu::sum_lines(rule, {dtype, a->data, count}, {dtype, b->data, count}, 1, 1, to);
    });
  });
}

// Integers: NumPy's running sums. Few floats: the exact ones.
PyObject* plain::cumsum(const Arguments& values) {
  const NumpyArray* const a = numpy_array(values[0]);
  if (a == nullptr) return nullptr;
  if (a->is_integer() || a->is_bool()) {
    static PyObject* const method = PyUnicode_InternFromString("cumsum");
    PyObject* const of[] = {values[0], values[1] == nullptr ? Py_None : values[1]};
    return PyObject_VectorcallMethod(method, of, 2, nullptr);
  }
  HostLines found;
  if (!a->is_plain() || !found.find(values[0], values.value(Name::axis))) return nullptr;
  const Lines& lines = found.lines;
  if (found.count > few_running && lines.inner == 1 && lines.length != 1) return nullptr;
  if (!stays_here(found.count) || (lines.flat && a->dimensions != 1)) return nullptr;
  nb::object result = new_numpy_array(a->shape(), found.dtype);
  void* const to = data_of(result);
  const masu::ArrayView x = found.elements();
  brief_call(found.count, [&] {
    if (lines.length == 1) masu::sum_lines(rule_of(SumFunction::sum, x.dtype), x, x, x.count, 1, to);
    else masu::running_sums(x, to, lines.outer, lines.length, lines.inner);
  });
  return result.release().ptr();
}

}  // namespace masu_python

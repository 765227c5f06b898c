// SPDX-License-Identifier: Apache-2.0
// Plain calls of counts of arrays of NumPy's, which NumPy makes where there are few elements, and totals of weights by
// integers, in an array that takes the library's memory.
#include "arrays.h"
#include "between.h"
#include "function.h"
#include "histogram/bins/ordinary_bins.h"
#include "histogram/cpu/little_data.h"
#include "lines.h"
#include "module.h"

#include <masu/histogram.h>
#include <masu/reduce.h>
#include <masu/weighted_histogram.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

constexpr std::uint64_t few_totals = 16384;

// The totals of the weights of 0, 1, 2, …, at least `least` of them, as an array; invalid where another way must be
// taken: for what are not two lines of equal length, integers that NumPy casts to intp and weights that are doubles.
nb::object weighted_bincount(nb::handle integers, nb::handle weights, std::uint64_t least) {
  const auto elements = [](nb::handle array) -> std::optional<masu::ArrayView> {
    const NumpyArray* const line = numpy_array(array.ptr());
    return line == nullptr || line->dimensions != 1 || line->is_bool() ? std::nullopt : plain_elements(array.ptr());
  };
  const auto x = elements(integers);
  const auto by = elements(weights);
  if (!x || !by || x->count == 0 || x->count != by->count || x->dtype == masu::Dtype::u64) return {};
  std::optional<masu::IndexTotals> found =
      brief_call(x->count, [&] { return masu::weighted_bincount(*x, *by, least); });
  if (!found) return {};
  if (found->count <= few_totals) {  // an array of NumPy's own is made sooner than one around other memory
    return new_numpy_array({masu::Dtype::f64, found->totals.get(), found->count});
  }
  using Totals = decltype(found->totals);
  double* const memory = found->totals.get();
  auto held = std::make_unique<Totals>(std::move(found->totals));
  const nb::capsule owner(held.get(), [](void* pointer) noexcept { delete static_cast<Totals*>(pointer); });
  static_cast<void>(held.release());
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(memory, {static_cast<std::size_t>(found->count)}, owner));
}

constexpr std::uint64_t few_bins = std::uint64_t{1} << 16;

// NumPy's counts of few integers. Null for integers that are too great to count, as NumPy (2.4.6) does not check all of
// these and may damage its memory, and for what may have such integers; those of 64 bits in few bins are counted here,
// as NumPy takes longer to find the greatest one.
PyObject* counts_of_few(const NumpyArray& x, const Arguments& values) {
  PyObject* const minlength = values[2];
  static PyObject* const numpys = numpy_function("bincount");
  masu::Dtype dtype{};
  if (!x.is_integer() || (dtype_of(x, dtype) && masu::size_of(dtype) != sizeof(std::uint64_t))) {
    return values.call(numpys);
  }
  if (!x.is_plain()) return nullptr;
  const std::span numbers(static_cast<const std::uint64_t*>(x.data), x.count());
  const std::uint64_t most = masu::greatest_of(numbers);
  if (most >> 62 == 1) return nullptr;
  if (x.dtype->kind == 'u') return values.call(numpys);  // an error before NumPy 2.2
  std::int64_t least = 0;
  const bool whole = minlength == nullptr || integer(minlength, least);
  if (!whole || least < 0 || std::max(most, static_cast<std::uint64_t>(least)) > few_bins || x.dimensions != 1 ||
      numbers.empty()) {
    return values.call(numpys);
  }
  const Py_ssize_t bins = std::max<Py_ssize_t>(static_cast<Py_ssize_t>(most) + 1, least);
  nb::object result = new_numpy_array({&bins, 1}, masu::Dtype::i64);
  auto* const counts = static_cast<std::int64_t*>(data_of(result));
  std::fill_n(counts, bins, 0);
  masu::count_numbers(numbers, counts);
  return result.release().ptr();
}

// Whether NumPy compares an end of a range with numbers of 64 bits as integers, where masu has doubles.
bool beyond_exact(const NumpyArray& a, PyObject* range) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  masu::Dtype dtype{};
  if (!a.is_integer() || !dtype_of(a, dtype) || masu::size_of(dtype) != sizeof exact) return false;
  if (range == nullptr || PyTuple_CheckExact(range) == 0) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(range); ++i) {
    PyObject* const end = PyTuple_GetItem(range, i);
    std::int64_t value = 0;
    if (PyLong_CheckExact(end) != 0 && (!integer(end, value) || value >= exact || value <= -exact)) return true;
  }
  return false;
}

}  // namespace

PyObject* plain::bincount(const Arguments& values) {
  const NumpyArray* const x = numpy_array(values[0]);
  if (x == nullptr) return nullptr;
  if (is_none(values[1])) return x->count() < small_limit(4) ? counts_of_few(*x, values) : nullptr;
  std::int64_t least = 0;
  if (numpy_array(values[1]) == nullptr || !stays_here(x->count())) return nullptr;
  if (values[2] != nullptr && (!integer(values[2], least) || least < 0)) return nullptr;
  return weighted_bincount(values[0], values[1], static_cast<std::uint64_t>(least)).release().ptr();
}

namespace {

// Whether edges are plain numbers; other ones are looked at in Python.
bool are_plain_edges(PyObject* bins) {
  if (const NumpyArray* const array = numpy_array(bins)) {
    if (array->dimensions != 1) return false;  // without dimensions it is a number of bins
    return array->is_integer() || (array->dtype->number == 12 && array->is_plain());
  }
  if (PyList_CheckExact(bins) == 0 && PyTuple_CheckExact(bins) == 0) return false;
  for (Py_ssize_t i = 0; i < PySequence_Size(bins); ++i) {
    PyObject* const edge = PyList_CheckExact(bins) != 0 ? PyList_GetItem(bins, i) : PyTuple_GetItem(bins, i);
    if (PyLong_CheckExact(edge) == 0 && PyFloat_Check(edge) == 0) return false;
  }
  return true;
}

// The counts of the elements between bins, or the totals of their weights, in the dtype of these.
nb::object counted(const masu::ArrayView& data, const NumpyArray* by, const masu::Bins& bins) {
  if (by == nullptr) {
    const auto found = brief_call(data.count, [&] { return masu::histogram(this_cpu(), data, bins); });
    return new_numpy_array({masu::Dtype::i64, found.counts().data(), found.counts().size()});
  }
  masu::Dtype weight{};
  dtype_of(*by, weight);
  const masu::ArrayView weights(weight, by->data, data.count);
  const auto found =
      brief_call(data.count, [&] { return masu::weighted_histogram(this_cpu(), data, weights, bins, {.wrap = true}); });
  const masu::ArrayView exact = totals_in(dtype_of_totals(weight), found, 0, false);
  const nb::object totals = new_numpy_array(exact);
  return masu::size_of(weight) == sizeof(double)
             ? totals
             : totals.attr("astype")(nb::handle(reinterpret_cast<PyObject*>(by->dtype)));
}

// The bits of the least and the greatest element; of a NaN if there is one.
Ends ends_of(const masu::ArrayView& data) {
  const auto found = brief_call(data.count, [&] { return masu::reduce(this_cpu(), data, masu::ReduceOp::minmax); });
  Ends ends{};
  std::memcpy(&ends[0], found.min_values().data, masu::size_of(data.dtype));
  std::memcpy(&ends[1], found.max_values().data, masu::size_of(data.dtype));
  return ends;
}

// Whether these are weights of an array that masu adds.
bool are_weights(const NumpyArray* by, const NumpyArray& a) {
  masu::Dtype dtype{};
  return by != nullptr && by->is_plain() && !by->is_bool() && dtype_of(*by, dtype) &&
         std::ranges::equal(by->shape(), a.shape());
}

}  // namespace

// (counts, edges) of an array, found on the CPU.
PyObject* plain::histogram(const Arguments& values) {
  static PyObject* const ten = PyLong_FromLong(10);
  const NumpyArray* const a = numpy_array(values[0]);
  const bool counts = is_none(values[3]) || values[3] == Py_False;  // no density
  if (a == nullptr || !counts || !is_none(values[5]) || !is_none(values[6])) return nullptr;
  PyObject* const bins = values[1] == nullptr ? ten : values[1];
  PyObject* const range = values[2] == nullptr ? Py_None : values[2];
  const NumpyArray* const by = is_none(values[4]) ? nullptr : numpy_array(values[4]);
  std::int64_t count = 0;
  const bool even = integer(bins, count);
  if (even ? count < 1 || beyond_exact(*a, values[2]) : !are_plain_edges(bins) || compares_as_doubles(*a, bins)) {
    return nullptr;
  }
  masu::Dtype dtype{};
  if (!a->is_plain() || a->is_bool() || a->count() == 0 || !dtype_of(*a, dtype) || !stays_here(a->count())) {
    return nullptr;
  }
  if (!is_none(values[4]) && !are_weights(by, *a)) return nullptr;
  // Bins of stored floats that are near to each other are prepared for each of their values.
  constexpr std::int64_t apart = 127;
  constexpr std::uint64_t prepared = 16;
  if (masu::is_stored_float(dtype) && even && count > apart && by == nullptr && a->count() < small_limit(prepared)) {
    static PyObject* const numpys = numpy_function("histogram");
    return values.call(numpys);
  }
  const masu::ArrayView data(dtype, a->data, a->count());
  Ends ends{};
  if (even && is_none(range)) {
    ends = ends_of(data);
    if (const std::optional<Between> own = own_bins(dtype, count, ends)) {
      return nb::make_tuple(counted(data, by, own->bins), own->edges_array(dtype)).release().ptr();
    }
  }
  if (!even) {
    static const nb::handle asarray = numpy_function("asarray");
    const nb::object edges = asarray(nb::handle(bins));
    const std::optional<masu::ArrayView> numbers = plain_elements(edges.ptr());
    if (numbers && numbers->dtype == masu::Dtype::f64) {
      const std::optional<masu::Bins> found = masu::bins_at(*numbers);
      if (found) return nb::make_tuple(counted(data, by, *found), edges).release().ptr();
    }
  }
  constexpr std::uint64_t few = 16384;
  const nb::object parts =
      ask_numpy(nb::handle(reinterpret_cast<PyObject*>(a->dtype)), dtype, bins, range, ends, data.count <= few);
  if (parts.is_none()) return nullptr;
  const nb::object which = parts[1];
  return nb::make_tuple(counted(data, by, nb::cast<const masu::Bins&>(which)), parts[0]).release().ptr();
}

PyObject* plain::digitize(const Arguments& values) {
  static PyObject* const numpys = numpy_function("digitize");
  const NumpyArray* const x = numpy_array(values[0]);
  const bool known = numpy_array(values[1]) != nullptr || PyList_CheckExact(values[1]) != 0;
  return x != nullptr && known && x->count() < small_limit() && !compares_as_doubles(*x, values[1])
             ? values.call(numpys)
             : nullptr;
}

// The same, None in place of what is invalid.
void register_bincount(nb::module_& m) {
  m.def("weighted_bincount", [](nb::handle integers, nb::handle weights, std::uint64_t least) {
    nb::object found = weighted_bincount(integers, weights, least);
    return found.is_valid() ? found : nb::object(nb::none());
  });
}

}  // namespace masu_python

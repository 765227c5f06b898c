// SPDX-License-Identifier: Apache-2.0
// Plain calls of sorts, orders, partitions and the k first of arrays of NumPy's.
#include "arrays.h"
#include "elements/dtypes.h"
#include "function.h"
#include "lines.h"
#include "module.h"
#include "order.h"

#include <masu/device.h>
#include <masu/quantile.h>
#include <masu/sort.h>
#include <masu/topk.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace masu_python {
namespace {

using masu::Dtype;

constexpr std::uint64_t short_elements = 16384;  // so little work that the GIL is kept

// Whether NumPy's sort keeps the bits of all of these elements.
bool sort_keeps_bits(Dtype dtype, const void* data, std::uint64_t count) {
  const masu::Unordered found = masu::find_unordered({dtype, data, count});
  return !found.both_zeros && !found.other_nan;
}

// Whether masu works on an array at once: few elements, or lines that are not rows.
bool is_plain_work(const HostLines& a) {
  return a.array->is_plain() && (a.count < short_elements || !a.lines.are_rows() || a.lines.length == 1) &&
         stays_here(a.count);
}

// The place of each element in its line.
void write_places(const Lines& lines, std::uint64_t* to) {
  for (std::uint64_t i = 0; i < lines.outer; ++i) {
    if (lines.inner == 1) {
      for (std::uint64_t k = 0; k < lines.length; ++k) *to++ = k;
      continue;
    }
    for (std::uint64_t k = 0; k < lines.length; ++k) to = std::fill_n(to, lines.inner, k);
  }
}

// A new array like `a`, or of `places`, whose lines work(rows, their number, memory for their results) writes.
template <class F>
PyObject* new_lines(HostLines& a, bool places, const F& work) {
  const std::span<const std::int64_t> shape = a.lines.alike();
  nb::object result = places ? new_numpy_array(shape, Dtype::i64) : new_numpy_array(shape, a.array->dtype);
  void* const to = data_of(result);
  const std::size_t size = masu::size_of(a.dtype);
  if (a.lines.length == 1) {  // each element is in order
    if (places) std::memset(to, 0, a.count * sizeof(std::uint64_t));
    else std::memcpy(to, a.array->data, a.count * size);
    return result.release().ptr();
  }
  brief_call(a.count, [&] {
    if (masu::are_lines_in_order(a.elements(), a.lines.outer, a.lines.inner)) {
      if (!places) std::memcpy(to, a.array->data, a.count * size);
      else write_places(a.lines, static_cast<std::uint64_t*>(to));
      return;
    }
    masu::by_lines(size, a.array->data, a.lines, places ? sizeof(std::uint64_t) : size, to,
                   [&](const void* rows, std::uint64_t number, void* made) {
                     const std::uint64_t count = number * a.lines.length;
                     work(masu::ArrayView{a.dtype, rows, count}, number,
                          masu::MutableArrayView{places ? Dtype::u64 : a.dtype, made, count});
                   });
  });
  return result.release().ptr();
}

// Arguments with which every order of NumPy's is masu's.
bool any_kind(PyObject* kind, PyObject* order, PyObject* stable) {
  if (!is_none(order)) return false;
  if (is_none(kind)) return is_none(stable) || PyBool_Check(stable) != 0;
  if (!is_none(stable) || PyUnicode_CheckExact(kind) == 0) return false;
  constexpr const char* kinds[] = {"stable", "quicksort", "mergesort", "heapsort", "quick", "merge", "heap"};
  return std::any_of(std::begin(kinds), std::end(kinds),
                     [&](const char* name) { return PyUnicode_CompareWithASCIIString(kind, name) == 0; });
}

// Whether NumPy uses one of these features of the processor.
bool numpy_uses(std::initializer_list<const char*> features) {
  try {
    const nb::object module = nb::module_::import_("numpy._core._multiarray_umath");
    const nb::object known = module.attr("__cpu_features__");
    return std::any_of(features.begin(), features.end(),
                       [&](const char* feature) { return nb::cast<bool>(known.attr("get")(feature, false)); });
  } catch (nb::python_error& error) {
    return false;
  }
}

// Up to how many elements NumPy sorts sooner than masu, in one line, and whether by digits, which is its stable sort.
struct NumpySort {
  std::uint64_t few;
  bool by_digits;
};
NumpySort numpy_sort(Dtype dtype, std::uint64_t length, bool several) {
  const bool alone = masu::cpu_threads() == 1;
  static const bool wide = numpy_uses({"AVX512_SKX", "AVX2", "X86_V3", "X86_V4", "ASIMD"});
  static const bool narrow = numpy_uses({"AVX512_ICL", "ASIMD"});
  static const bool halves = numpy_uses({"AVX512_SPR"});
  constexpr std::uint64_t few_halves = 128;
  constexpr std::uint64_t short_line = 64;
  constexpr std::uint64_t digits_pay = 512;
  constexpr std::uint64_t in_lanes = 32;
  if (several && length <= in_lanes) return {0, false};
  switch (masu::size_of(dtype)) {
    case 1: return {length < short_line ? 0 : small_limit(2), true};
    case 2:
      if (masu::is_stored_float(dtype)) return {halves ? small_limit(4) : std::min(small_limit(), few_halves), false};
      if (!narrow && length < digits_pay) return {0, true};
      return narrow ? NumpySort{small_limit(alone ? 128 : 8), false} : NumpySort{small_limit(4), true};
    default: return {small_limit(!wide || length < short_line ? 1 : alone ? 64 : 8), false};
  }
}

}  // namespace

// A copy that NumPy sorts, where its order of few elements is masu's.
PyObject* plain::sort(const Arguments& values) {
  if (!any_kind(values[2], values[3], values[4])) return nullptr;
  HostLines a;
  if (!a.find(values[0], values[1]) || !a.array->is_native()) return nullptr;
  const auto& [array, dtype, count, lines] = a;
  const NumpySort numpys = numpy_sort(dtype, lines.length, lines.number() > 1);
  if (count >= numpys.few) {
    if (small_limit() == 0 || !is_plain_work(a)) return nullptr;
    return new_lines(a, false, [](const auto& data, std::uint64_t rows, const auto& to) {
      masu::sort(this_cpu(), data, to, {.rows = rows});
    });
  }
  if (count >= small_limit(8) && !stays_here(count)) return nullptr;
  static PyObject* const flatten = PyUnicode_InternFromString("flatten");
  static PyObject* const copy = PyUnicode_InternFromString("copy");
  static PyObject* const keep = PyUnicode_InternFromString("K");
  static PyObject* const sort = PyUnicode_InternFromString("sort");
  static PyObject* const last = PyLong_FromLong(-1);
  static PyObject* const stable = PyUnicode_InternFromString("stable");
  PyObject* const of[] = {values[0], keep};
  nb::object result =
      nb::steal(PyObject_VectorcallMethod(lines.flat ? flatten : copy, of, lines.flat ? 1 : 2, nullptr));
  if (!result.is_valid()) return nullptr;
  if (array->is_plain() && masu::are_lines_in_order(a.elements(), lines.outer, lines.inner)) {
    return result.release().ptr();
  }
  // A copy has no gaps.
  if (array->is_float() && !sort_keeps_bits(dtype, data_of(result), count)) return nullptr;
  PyObject* const by[] = {result.ptr(), lines.flat || values[1] == nullptr ? last : values[1], stable};
  PyObject* const done = PyObject_VectorcallMethod(sort, by, numpys.by_digits ? 3 : 2, nullptr);
  if (done == nullptr) return nullptr;
  Py_DECREF(done);
  return result.release().ptr();
}

// NumPy's stable order of few elements, or masu's.
PyObject* plain::argsort(const Arguments& values) {
  constexpr std::uint64_t few_to_order = 512;
  constexpr std::uint64_t few_halves = 32;
  constexpr std::uint64_t most_in_lanes = 512;  // elements of a row
  if (!any_kind(values[2], values[3], values[4])) return nullptr;
  HostLines a;
  if (!a.find(values[0], values[1])) return nullptr;
  const auto& [array, dtype, count, lines] = a;
  const bool by_digits = masu::size_of(dtype) <= 2 && !masu::is_stored_float(dtype);
  const bool by_masu = lines.number() == 1
                           ? count >= (masu::is_stored_float(dtype) ? few_halves : few_to_order) && !by_digits
                           : !by_digits || lines.length <= most_in_lanes;
  if (by_masu && small_limit() != 0 && is_plain_work(a)) {
    return new_lines(a, true, [](const auto& data, std::uint64_t rows, const auto& to) {
      masu::argsort(this_cpu(), data, to, {.rows = rows});
    });
  }
  if (count >= small_limit(by_digits ? 4 : 1)) return nullptr;
  static PyObject* const method = PyUnicode_InternFromString("argsort");
  static PyObject* const last = PyLong_FromLong(-1);
  static PyObject* const stable = PyUnicode_InternFromString("stable");
  PyObject* const by[] = {values[0], values[1] == nullptr ? last : values[1], stable};
  return PyObject_VectorcallMethod(method, by, 3, nullptr);
}

namespace {

using Places = std::vector<std::uint64_t>;

// Adds a place that NumPy was given, negative ones counted from the end; false where there is no such place.
bool add_place(std::int64_t place, std::int64_t length, Places& places) {
  if (place < -length || place >= length) return false;
  places.push_back(static_cast<std::uint64_t>(place < 0 ? place + length : place));
  return true;
}

// `kth`: an int, a list or tuple of them, or an array of int64; in the end each place once, ascending.
bool find_places(PyObject* kth, std::int64_t length, Places& places) {
  std::int64_t place = 0;
  if (integer(kth, place)) return add_place(place, length, places);
  const bool is_list = PyList_CheckExact(kth) != 0;
  if (const NumpyArray* const array = numpy_array(kth)) {
    Dtype dtype{};
    if (!dtype_of(*array, dtype) || dtype != Dtype::i64 || array->dimensions != 1 || !array->is_plain()) return false;
    const auto* const from = static_cast<const std::int64_t*>(array->data);
    places.reserve(array->count());
    for (std::uint64_t i = 0; i < array->count(); ++i) {
      if (!add_place(from[i], length, places)) return false;
    }
  } else if (is_list || PyTuple_CheckExact(kth) != 0) {
    const Py_ssize_t count = PySequence_Size(kth);
    places.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* const one = is_list ? PyList_GetItem(kth, i) : PyTuple_GetItem(kth, i);
      if (!integer(one, place) || !add_place(place, length, places)) return false;
    }
  }
  if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return !places.empty();
}

}  // namespace

// Little data whose last axis is parted, or the places of its elements.
PyObject* plain::partition(const Arguments& values) {
  if (!is_none(values[4])) return nullptr;
  if (values[3] != nullptr &&
      (PyUnicode_CheckExact(values[3]) == 0 || PyUnicode_CompareWithASCIIString(values[3], "introselect") != 0)) {
    return nullptr;
  }
  HostLines a;
  if (!a.find(values[0], values[2]) || !is_plain_work(a)) return nullptr;
  Places kth;
  if (!find_places(values[1], static_cast<std::int64_t>(a.lines.length), kth)) return nullptr;
  const bool places = values.variant().places;
  return new_lines(a, places, [&](const auto& data, std::uint64_t rows, const auto& to) {
    if (places) masu::argpartition_rows(data, rows, kth, {static_cast<std::uint64_t*>(to.data), to.count});
    else masu::partition_rows(data, rows, kth, to);
  });
}

// Takes little data along its last axis.
PyObject* plain::topk(const Arguments& values) {
  if (values[3] != nullptr && PyBool_Check(values[3]) == 0) return nullptr;
  HostLines a;
  if (!a.find(values[0], values[2]) || a.lines.inner != 1 || !is_plain_work(a)) return nullptr;
  if (a.lines.flat && a.array->dimensions != 1) return nullptr;
  std::int64_t k = 0;
  if (!integer(values[1], k) || k < 1 || static_cast<std::uint64_t>(k) > a.lines.length) return nullptr;
  static const nb::handle type = nb::object(nb::module_::import_("masu._order").attr("TopK")).release();
  const std::span<const std::int64_t> shape = a.lines.with(k);
  const nb::object best = new_numpy_array(shape, a.array->dtype);
  const nb::object places = new_numpy_array(shape, Dtype::i64);
  const masu::TopkOptions options{.largest = values[3] != Py_False, .rows = a.count / a.lines.length};
  const auto each = static_cast<std::uint64_t>(k);
  copy_first(masu::topk(this_cpu(), a.elements(), each, options), each, data_of(best), data_of(places));
  return type(best, places).release().ptr();
}

// Takes few values: NumPy finds them.
PyObject* plain::searchsorted(const Arguments& values) {
  static PyObject* const method = PyUnicode_InternFromString("searchsorted");
  static PyObject* const left = PyUnicode_InternFromString("left");
  static PyObject* const scalar = numpy_function("generic");
  const NumpyArray* const sorted = numpy_array(values[0]);
  if (sorted == nullptr || compares_as_doubles(*sorted, values[1])) return nullptr;
  if (const NumpyArray* const sought = numpy_array(values[1])) {
    if (sought->count() >= small_limit()) return nullptr;
  } else if (small_limit() == 0 || (PyLong_CheckExact(values[1]) == 0 && PyFloat_CheckExact(values[1]) == 0 &&
                                    PyObject_IsInstance(values[1], scalar) != 1)) {
    return nullptr;
  }
  PyObject* const of[] = {values[0], values[1], values[2] == nullptr ? left : values[2],
                          values[3] == nullptr ? Py_None : values[3]};
  return PyObject_VectorcallMethod(method, of, 4, nullptr);
}

}  // namespace masu_python

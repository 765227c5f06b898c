// SPDX-License-Identifier: Apache-2.0
// Totals of the weights of few elements, or of few beside the bins, between the even edges that NumPy has computed.
#include "arrays.h"
#include "elements/stored_float.h"
#include "histogram/cpu/little_data.h"
#include "module.h"

#include <masu/dtype.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace masu_python {
namespace {

using masu::Dtype;
using masu::EdgeSearch;

// Whether numpy.histogram's guess of a bin and its one correction end where a search in the edges does. `range`: None,
// or the ends that NumPy was given.
bool guessed_as_sought(const EdgeSearch& edges, Dtype dtype, nb::handle range) {
  const double width = edges.last() - edges.first();
  const double size = std::max(std::fabs(edges.first()), std::fabs(edges.last()));
  const auto count = static_cast<double>(edges.bins() + 1);
  // A step of subnormal size is rounded, so that an edge may be bins away from where NumPy guesses it.
  const double least = dtype == Dtype::f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  if (width < least * count) return false;
  if (dtype == Dtype::f16) {
    // NumPy's arithmetic is that of f16: three roundings for a guess, three for an edge.
    constexpr double most = 128;
    const double unit = std::ldexp(1, std::max(std::ilogb(size), -14) - 10);
    if (count > most || width < 4 * unit * count) return false;
  } else if (masu::size_of(dtype) == 8 && !masu::is_float(dtype)) {
    const double spacing = std::nextafter(size, HUGE_VAL) - size;
    if (width < 4 * spacing * count) return false;
  }
  if (range.is_none()) return true;
  if (PyTuple_CheckExact(range.ptr()) == 0 || PyTuple_Size(range.ptr()) != 2) return false;
  double ends[2];
  for (Py_ssize_t i = 0; i < 2; ++i) {
    PyObject* const end = PyTuple_GetItem(range.ptr(), i);
    const bool whole = PyLong_CheckExact(end) != 0;
    if (!whole && PyFloat_CheckExact(end) == 0) return false;
    ends[i] = whole ? PyLong_AsDouble(end) : PyFloat_AsDouble(end);
    if (PyErr_Occurred() != nullptr) PyErr_Clear(), ends[i] = HUGE_VAL;
    if (whole && !(std::fabs(ends[i]) < 0x1p53)) return false;  // which NumPy compares exactly
    if (!whole && dtype == Dtype::f32) ends[i] = static_cast<float>(ends[i]);
    if (!whole && dtype == Dtype::f16) ends[i] = masu::to_double(masu::rounded_to<masu::Half>(ends[i]));
  }
  return ends[0] == edges.first() && ends[1] == edges.last();
}

// A plain array of a dtype that masu has; null for another object.
const NumpyArray* plain_array(nb::handle object, Dtype& dtype) {
  const NumpyArray* const array = numpy_array(object.ptr());
  return array != nullptr && array->is_plain() && !array->is_bool() && dtype_of(*array, dtype) ? array : nullptr;
}

// columns: arrays of one dimension; edges: of each; weights: of their length. `joint`: as numpy.histogramdd has it,
// with totals of f64; else the totals are of f64, or i64 or u64 for integers. None for all else.
nb::object few_weights(nb::tuple columns, nb::tuple edges, nb::handle weights, nb::handle range, bool joint) {
  constexpr std::uint64_t few_bins = 16384;  // so few that each may have a sum of its own
  Dtype weight{};
  const NumpyArray* const by = plain_array(weights, weight);
  if (by == nullptr) return nb::none();
  std::vector<masu::ArrayView> data;
  std::vector<EdgeSearch> searches;
  std::uint64_t bins = 1;
  for (std::size_t d = 0; d < columns.size(); ++d) {
    Dtype dtype{};
    Dtype of_edges{};
    const NumpyArray* const column = plain_array(columns[d], dtype);
    const NumpyArray* const limits = plain_array(edges[d], of_edges);
    if (column == nullptr || !std::ranges::equal(column->shape(), by->shape())) return nb::none();
    if (limits == nullptr || limits->dimensions != 1 || limits->count() < 2) return nb::none();
    if (!masu::is_float(of_edges) || (of_edges != Dtype::f64 && of_edges != dtype)) return nb::none();
    const EdgeSearch& search = searches.emplace_back(masu::ArrayView(of_edges, limits->data, limits->count()));
    if (!search.are_usable() || (!joint && !guessed_as_sought(search, dtype, range))) return nb::none();
    bins *= search.bins();
    if (bins >= std::uint64_t{1} << 31 || (joint && bins > few_bins)) return nb::none();
    data.emplace_back(dtype, column->data, column->count());
  }
  const bool whole = !masu::is_float(weight) && !joint;
  const Dtype result = !whole ? Dtype::f64 : masu::is_signed(weight) ? Dtype::i64 : Dtype::u64;
  const auto length = static_cast<Py_ssize_t>(bins);
  nb::object totals = nb::steal(new_numpy_array({&length, 1}, result));
  if (!totals.is_valid()) throw nb::python_error();
  masu::weigh_few(data, searches, {weight, by->data, by->count()}, {result, data_of(totals.ptr()), bins});
  return totals;
}

}  // namespace

void register_few_weights(nb::module_& m) {
  m.def("few_weights", few_weights, nb::arg("columns"), nb::arg("edges"), nb::arg("weights"), nb::arg("range").none(),
        nb::arg("joint"));
}

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// Totals of the weights of few elements, or of few beside the bins, between the even edges that NumPy has computed:
// each value is sought in the edges, so nothing is prepared for them.
#include "arrays.h"
#include "lines.h"
#include "module.h"
#include "runtime/half.h"
#include "sum/compensated.h"

#include <masu/dtype.h>
#include <masu/sum.h>
#include <masu/weighted_histogram.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::Dtype;

// Of a double that lies between the ends of ascending edges.
class EdgeSearch {
 public:
  explicit EdgeSearch(std::vector<double> edges) : edges_(std::move(edges)) {
    scale_ = static_cast<double>(bins()) / (last() - first());
  }
  [[nodiscard]] std::uint64_t bins() const { return edges_.size() - 1; }
  [[nodiscard]] double first() const { return edges_.front(); }
  [[nodiscard]] double last() const { return edges_.back(); }
  [[nodiscard]] bool holds(double x) const { return x >= first() && x <= last(); }
  // A guess, and from there to the bin; the last one holds its end.
  [[nodiscard]] std::uint64_t bin(double x) const {
    const std::uint64_t end = bins() - 1;
    const double guess = (x - first()) * scale_;
    std::uint64_t at = guess < static_cast<double>(end) ? static_cast<std::uint64_t>(guess) : end;
    while (x < edges_[at]) --at;
    while (at != end && x >= edges_[at + 1]) ++at;
    return at;
  }
  // Finite, and ascending.
  [[nodiscard]] bool are_usable() const {
    return std::isfinite(last() - first()) && last() > first() && std::is_sorted(edges_.begin(), edges_.end());
  }

 private:
  std::vector<double> edges_;
  double scale_ = 0;
};

// The edges as doubles; nothing where they are of a dtype in which NumPy compares data of `dtype` otherwise.
std::optional<EdgeSearch> edges_of(nb::handle object, Dtype dtype) {
  const NumpyArray* const array = numpy_array(object.ptr());
  Dtype own{};
  if (array == nullptr || !array->is_plain() || array->dimensions != 1 || array->count() < 2 || !dtype_of(*array, own))
    return std::nullopt;
  if (own != Dtype::f64 && own != dtype) return std::nullopt;
  std::vector<double> edges(array->count());
  if (own == Dtype::f64) {
    std::copy_n(static_cast<const double*>(array->data), edges.size(), edges.begin());
  } else if (own == Dtype::f32) {
    std::copy_n(static_cast<const float*>(array->data), edges.size(), edges.begin());
  } else if (own == Dtype::f16) {
    std::transform(static_cast<const masu::Half*>(array->data),
                   static_cast<const masu::Half*>(array->data) + edges.size(), edges.begin(),
                   [](masu::Half x) { return masu::runtime::to_double(x); });
  } else {
    return std::nullopt;
  }
  EdgeSearch search(std::move(edges));
  if (!search.are_usable()) return std::nullopt;
  return search;
}

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
    if (!whole && dtype == Dtype::f16) ends[i] = masu::runtime::to_double(masu::runtime::to_half(ends[i]));
  }
  return ends[0] == edges.first() && ends[1] == edges.last();
}

template <class T>
double number(T element) {
  if constexpr (std::is_same_v<T, masu::Half>) return masu::runtime::to_double(element);
  else return static_cast<double>(element);
}

// Calls work(elements) with the type of a dtype in which doubles are made of them.
template <class F>
bool with_elements(const NumpyArray& array, const F& work) {
  Dtype dtype{};
  if (!dtype_of(array, dtype)) return false;
  masu::dispatch(dtype, [&](auto tag) { work(static_cast<const typename decltype(tag)::type*>(array.data)); });
  return true;
}

// The joint bin of each point, row by row; the number of bins where a value is in none. Joint bins are below 2^31.
bool find_places(std::span<const NumpyArray* const> columns, std::span<const EdgeSearch> edges, std::uint64_t bins,
                 std::vector<std::int32_t>& places) {
  constexpr std::int32_t nowhere = -1;
  for (std::size_t d = 0; d < columns.size(); ++d) {
    const EdgeSearch& search = edges[d];
    const auto width = static_cast<std::int32_t>(search.bins());
    const bool found = with_elements(*columns[d], [&](const auto* x) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        const double value = number(x[i]);
        if (places[i] == nowhere || !search.holds(value)) places[i] = nowhere;
        else places[i] = places[i] * width + static_cast<std::int32_t>(search.bin(value));
      }
    });
    if (!found) return false;
  }
  std::ranges::replace(places, nowhere, static_cast<std::int32_t>(bins));
  return true;
}

using Places = std::span<const std::int32_t>;
__extension__ using Wide = __int128;

// The exact totals of integers: modulo 2^64, or rounded to f64 once.
template <class W>
void add_integers(const W* weights, Places places, std::uint64_t bins, void* totals, bool joint) {
  const auto add = [&](auto* sums) {
    using Sum = std::remove_pointer_t<decltype(sums)>;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto place = static_cast<std::uint64_t>(places[i]);
      if (place != bins) sums[place] += static_cast<Sum>(weights[i]);
    }
  };
  if (joint) {
    std::vector<Wide> sums(bins);
    add(sums.data());
    std::transform(sums.begin(), sums.end(), static_cast<double*>(totals),
                   [](Wide sum) { return static_cast<double>(sum); });
  } else {
    auto* const sums = static_cast<std::uint64_t*>(totals);
    std::fill_n(sums, bins, 0);
    add(sums);
  }
}

// The exact totals, rounded to f64 once.
template <class W>
void add_numbers(const W* weights, Places places, std::uint64_t bins, double* totals) {
  constexpr std::size_t block = 512;
  std::vector<masu::Compensated> sums(bins + 1);
  std::array<double, block> numbers;
  for (std::size_t first = 0; first < places.size(); first += block) {
    const std::size_t count = std::min(block, places.size() - first);
    std::transform(weights + first, weights + first + count, numbers.begin(), number<W>);
    for (std::size_t i = 0; i < count; ++i) sums[static_cast<std::size_t>(places[first + i])].add(numbers[i]);
  }
  std::vector<std::size_t> order;
  std::vector<double> here;
  const auto place_of = [&](std::size_t i) { return places[i]; };
  for (std::uint64_t bin = 0; bin < bins; ++bin) {
    if (const auto total = sums[bin].rounded<double>()) {
      totals[bin] = *total;
      continue;
    }
    // Not certain: by itself.
    if (order.empty()) {
      order.resize(places.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, {}, place_of);
    }
    const auto [first, last] = std::ranges::equal_range(order, static_cast<std::int32_t>(bin), {}, place_of);
    here.clear();
    std::transform(first, last, std::back_inserter(here), [&](std::size_t i) { return number(weights[i]); });
    totals[bin] = masu::sum(this_cpu(), masu::ArrayView(here)).value();
  }
}

// columns: arrays of one dimension; edges: of each; weights: of their length. `joint`: as numpy.histogramdd has it,
// with totals of f64; else the totals are of f64, or i64 or u64 for integers. None for all else.
nb::object few_weights(nb::tuple columns, nb::tuple edges, nb::handle weights, nb::handle range, bool joint) {
  constexpr std::uint64_t few_bins = 16384;  // so few that each may have a sum of its own
  const NumpyArray* const by = numpy_array(weights.ptr());
  Dtype weight{};
  if (by == nullptr || !by->is_plain() || by->is_bool() || !dtype_of(*by, weight)) return nb::none();
  std::vector<const NumpyArray*> data;
  std::vector<EdgeSearch> searches;
  std::uint64_t bins = 1;
  for (std::size_t d = 0; d < columns.size(); ++d) {
    const NumpyArray* const column = numpy_array(columns[d].ptr());
    Dtype dtype{};
    if (column == nullptr || !column->is_plain() || column->is_bool() || !dtype_of(*column, dtype) ||
        !std::ranges::equal(column->shape(), by->shape())) {
      return nb::none();
    }
    std::optional<EdgeSearch> search = edges_of(edges[d], dtype);
    if (!search || (!joint && !guessed_as_sought(*search, dtype, range))) return nb::none();
    bins *= search->bins();
    if (bins >= std::uint64_t{1} << 31 || (joint && bins > few_bins)) return nb::none();
    data.push_back(column);
    searches.push_back(std::move(*search));
  }
  std::vector<std::int32_t> places(by->count());
  if (!find_places(data, searches, bins, places)) return nb::none();
  const bool whole = !masu::is_float(weight) && !joint;
  const Dtype result = !whole ? Dtype::f64 : masu::is_signed(weight) ? Dtype::i64 : Dtype::u64;
  const auto length = static_cast<Py_ssize_t>(bins);
  nb::object totals = nb::steal(new_numpy_array({&length, 1}, result));
  if (!totals.is_valid()) throw nb::python_error();
  void* const to = data_of(totals.ptr());
  bool sure = true;
  with_elements(*by, [&](const auto* w) {
    using W = std::remove_cvref_t<decltype(*w)>;
    if constexpr (std::is_integral_v<W>) {
      add_integers(w, places, bins, to, joint);
    } else {
      if constexpr (std::is_floating_point_v<W>) {
        if (bins > places.size()) {
          const auto found = masu::weighted_bincount(masu::ArrayView(places), {weight, w, places.size()}, bins + 1);
          sure = found.has_value();
          if (sure) std::copy_n(found->totals.get(), bins, static_cast<double*>(to));
          return;
        }
      }
      sure = bins <= few_bins;
      if (sure) add_numbers(w, places, bins, static_cast<double*>(to));
    }
  });
  return sure ? totals : nb::object(nb::none());
}

}  // namespace

void register_few_weights(nb::module_& m) {
  m.def("few_weights", few_weights, nb::arg("columns"), nb::arg("edges"), nb::arg("weights"), nb::arg("range").none(),
        nb::arg("joint"));
}

}  // namespace masu_python

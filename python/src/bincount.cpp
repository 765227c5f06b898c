// SPDX-License-Identifier: Apache-2.0
// Totals of weights by integers, as an array that takes the library's memory.
#include "bincount.h"

#include "arrays.h"

#include <masu/weighted_histogram.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace masu_python {
namespace {

constexpr std::uint64_t few_weights = 16384;  // so little work that the GIL is kept

}  // namespace

nb::object weighted_bincount(nb::handle integers, nb::handle weights, std::uint64_t least) {
  const MaybeInput x(integers);
  const MaybeInput by(weights);
  if (x.count() == 0 || x.count() != by.count() || x.dimensions() != 1 || by.dimensions() != 1 || x.is_bool() ||
      by.is_bool() || x.dtype() == masu::Dtype::u64) {
    return {};
  }
  const auto work = [&] { return masu::weighted_bincount(x.view(), by.view(), least); };
  std::optional<masu::IndexTotals> found = x.count() <= few_weights ? work() : call(work);
  if (!found) return {};
  if (found->count <= few_weights) {  // an array of NumPy's own is made sooner than one around other memory
    static const nb::handle empty = nb::object(nb::module_::import_("numpy").attr("empty")).release();
    nb::object result = empty(found->count);
    const Output to(result);
    std::copy_n(found->totals.get(), found->count, to.data<double>());
    return result;
  }
  using Totals = decltype(found->totals);
  double* const memory = found->totals.get();
  auto held = std::make_unique<Totals>(std::move(found->totals));
  const nb::capsule owner(held.get(), [](void* pointer) noexcept { delete static_cast<Totals*>(pointer); });
  static_cast<void>(held.release());
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(memory, {static_cast<std::size_t>(found->count)}, owner));
}

// The same, None in place of what is invalid.
void register_bincount(nb::module_& m) {
  m.def(
      "weighted_bincount",
      [](nb::handle integers, nb::handle weights, std::uint64_t least) {
        nb::object found = weighted_bincount(integers, weights, least);
        return found.is_valid() ? found : nb::object(nb::none());
      },
      nb::arg("integers"), nb::arg("weights"), nb::arg("least"));
}

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// The bins between NumPy's edges.
#pragma once

#include "arrays.h"
#include "elements/dtypes.h"

#include <masu/bins.h>
#include <masu/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace masu_python {

using Ends = std::array<std::uint64_t, 2>;  // the bits of the least and the greatest element

// Edges have the dtype of floats, but f64 for integers, and f32 for floats that NumPy lacks.
inline masu::Dtype dtype_of_edges(masu::Dtype dtype) {
  return masu::is_float(dtype) ? masu::arithmetic_dtype(dtype) : masu::Dtype::f64;
}

// NumPy's edges, and the bins with which masu counts between them what NumPy counts.
struct Between {
  std::vector<std::byte> edges;
  masu::Bins bins;

  // `parts`: what ask_numpy() gives. Throws unsupported for what NumPy has to count.
  Between(const nb::object& parts, masu::Dtype dtype, std::int64_t count);
  // Where NumPy's edges are masu's.
  Between(masu::Bins own, masu::Dtype dtype);
  Between(std::vector<std::byte> given, masu::Bins between) : edges(std::move(given)), bins(std::move(between)) {}
  [[nodiscard]] nb::object edges_array(masu::Dtype dtype) const;
};

// Asks _bins.plain_bins for the edges and the bins; None for what NumPy has to count. `dtype`: NumPy's, or its code.
// `ends` matter for even bins without a range. `few`: of few elements.
nb::object ask_numpy(nb::handle dtype, masu::Dtype known, nb::handle bins, nb::handle range, const Ends& ends,
                     bool few = false);

// Even bins from the least to the greatest element where the running NumPy surely has masu's edges. With the GIL.
std::optional<Between> own_bins(masu::Dtype dtype, std::int64_t bins, const Ends& ends);

// The same, or what NumPy says. Throws masu::Error for what NumPy has to count, or to refuse.
Between between(masu::Dtype dtype, std::int64_t bins, const Ends& ends);

}  // namespace masu_python

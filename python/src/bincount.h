// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lines.h"
#include "module.h"

#include <cstdint>

namespace masu_python {

// The totals of the weights of 0, 1, 2, …, at least `least` of them, as an array; invalid where another way must be
// taken: for what are not two lines of equal length, integers that NumPy casts to intp and weights that are doubles.
nb::object weighted_bincount(nb::handle integers, nb::handle weights, std::uint64_t least);

}  // namespace masu_python

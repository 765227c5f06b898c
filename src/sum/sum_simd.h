// SPDX-License-Identifier: Apache-2.0
// One thread's loops of exact sums, compiled once for each instruction set.
#pragma once

#include "sum/fixed_point.h"

#include <masu/dtype.h>

#include <cstdint>

namespace masu::cpu {

// Adds the elements of x, or their products with those of y, which may be x.
template <class T>
void add_values(const T* x, std::uint64_t count, fixed::Sum& total);
template <class T>
void add_products(const T* x, const T* y, std::uint64_t count, fixed::Products& total);

}  // namespace masu::cpu

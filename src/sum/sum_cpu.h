// SPDX-License-Identifier: Apache-2.0
// Exact sums by CPU threads.
#pragma once

#include "sum/sum_totals.h"

#include <masu/dtype.h>

#include <cstdint>
#include <functional>

namespace masu::cpu {

// Adds `count` elements, or products with those of y. y matters where products of two inputs are asked for.
void add_totals(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t count, Totals& totals);

// The totals of each of `rows` rows of `count` elements. `sink` is called by many threads at once, once for each row.
void add_rows(Dtype dtype, const SumNeeds& needs, const void* x, const void* y, std::uint64_t rows, std::uint64_t count,
              const std::function<void(std::uint64_t, const Totals&)>& sink);

}  // namespace masu::cpu

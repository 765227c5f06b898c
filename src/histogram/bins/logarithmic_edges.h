// SPDX-License-Identifier: Apache-2.0
// The edges of bins of equal ratio, correctly rounded.
#pragma once

#include <cstdint>
#include <vector>

namespace masu {

// Edge i is lo * (hi / lo)^(i / n), rounded to nearest, for 0 < lo < hi; both ends exact. Edges may be equal where
// there are more of them than numbers. Throws out_of_memory.
std::vector<double> logarithmic_edges(std::uint64_t n, double lo, double hi);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/little_data.h"

#include "elements/stored_float.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_simd.h"

#include <masu/error.h>
#include <masu/floating_point.h>

namespace masu {

std::optional<Bins> bins_with_edges(const ValueRange& range, bool of_data, std::span<const double> edges, Dtype dtype,
                                    bool joint) {
  const FloatingPointScope usual;
  try {
    const std::uint64_t n = edges.size() - 1;
    const Bins even = of_data ? Bins::even(n, range) : Bins::even(n, range.lo, range.hi);
    const BinRule rule(even, dtype, false, joint);
    std::uint64_t i = 0;
    while (i < edges.size() && rule.edge(i) == edges[i]) ++i;
    if (i == edges.size()) return even;
  } catch (const Error& error) {  // bins without width, which NumPy has
    if (error.code() != ErrorCode::invalid_argument) throw;
  }
  if (is_stored_float(arithmetic_dtype(dtype)) && !joint) return std::nullopt;
  return Bins::edges({edges.begin(), edges.end()});
}

std::uint64_t greatest_of(std::span<const std::uint64_t> numbers) noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;
  cpu::range_of(numbers.data(), numbers.size(), least, greatest);
  return greatest;
}

void count_numbers(std::span<const std::uint64_t> numbers, std::int64_t* counts) noexcept {
  for (const std::uint64_t number : numbers) ++counts[number];
}

}  // namespace masu

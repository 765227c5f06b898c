// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/little_data.h"

#include "elements/order.h"
#include "elements/stored_float.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/cpu/histogram_simd.h"

#include <masu/error.h>
#include <masu/floating_point.h>

#include <algorithm>
#include <cstring>

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
  if (is_stored_float(dtype) && !joint) return std::nullopt;
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

EdgeSearch::EdgeSearch(const ArrayView& edges) : edges_(edges.count) {
  dispatch(edges.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(static_cast<const T*>(edges.data), static_cast<const T*>(edges.data) + edges.count, edges_.begin(),
                   [](T edge) { return to_f64(edge); });
  });
  scale_ = static_cast<double>(bins()) / (last() - first());
}

bool EdgeSearch::are_usable() const noexcept {
  return std::isfinite(last() - first()) && last() > first() && std::is_sorted(edges_.begin(), edges_.end());
}

namespace {

// The joint bins of points; the number of bins where a value is in none.
class SoughtPoints final : public cpu::SlotSource {
 public:
  SoughtPoints(std::span<const ArrayView> columns, std::span<const EdgeSearch> edges)
      : columns_(columns), edges_(edges) {}
  void write(std::uint64_t first, std::size_t count, cpu::SlotHistories& /*histories*/,
             std::uint32_t* slots) const override {
    std::uint32_t all = 1;
    for (const EdgeSearch& search : edges_) all *= static_cast<std::uint32_t>(search.bins());
    constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    std::fill_n(slots, count, 0);
    for (std::size_t d = 0; d < columns_.size(); ++d) {
      const EdgeSearch& search = edges_[d];
      const auto width = static_cast<std::uint32_t>(search.bins());
      dispatch(columns_[d].dtype, [&](auto tag) {
        const auto* x = static_cast<const typename decltype(tag)::type*>(columns_[d].data) + first;
        for (std::size_t i = 0; i < count; ++i) {
          const double value = to_f64(x[i]);
          slots[i] = slots[i] == nowhere || !search.holds(value)
                         ? nowhere
                         : slots[i] * width + static_cast<std::uint32_t>(search.bin(value));
        }
      });
    }
    std::replace(slots, slots + count, nowhere, all);
  }

 private:
  std::span<const ArrayView> columns_;
  std::span<const EdgeSearch> edges_;
};

}  // namespace

void weigh_few(std::span<const ArrayView> columns, std::span<const EdgeSearch> edges, const ArrayView& weights,
               const MutableArrayView& totals) {
  const FloatingPointScope usual;
  const SoughtPoints points(columns, edges);
  std::memset(totals.data, 0, totals.count * sizeof(double));
  if (is_float(weights.dtype)) {
    cpu::add_narrow(points, weights, {static_cast<double*>(totals.data), totals.count});
  } else {
    cpu::add_whole(points, weights, totals);
  }
}

}  // namespace masu

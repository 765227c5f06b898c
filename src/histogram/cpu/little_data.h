// SPDX-License-Identifier: Apache-2.0
// Counts and totals of few elements, for which nothing is prepared. The Python package of the same version calls these
// beside the public functions; they are no public API.
#pragma once

#include <masu/bins.h>
#include <masu/device.h>
#include <masu/dtype.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace masu {

// Even bins over a range, `of_data` or given, where their edges in data of the dtype are `edges`, which NumPy has
// computed; else the bins between those. Nothing where edges do not tell where f16 values go: NumPy's f16 arithmetic
// decides, which is known for own edges only. `joint`: of a column of several.
MASU_EXPORT std::optional<Bins> bins_with_edges(const ValueRange& range, bool of_data, std::span<const double> edges,
                                                Dtype dtype, bool joint);

// The greatest of these numbers; a negative one, as i64, is greater than all others.
MASU_EXPORT std::uint64_t greatest_of(std::span<const std::uint64_t> numbers) noexcept;
// Adds how often each number occurs.
MASU_EXPORT void count_numbers(std::span<const std::uint64_t> numbers, std::int64_t* counts) noexcept;

// Finds the bin of a value in edges: a guess, and from there a step at a time.
class EdgeSearch {
 public:
  // `edges`: at least two, of f64, f32 or f16.
  MASU_EXPORT explicit EdgeSearch(const ArrayView& edges);
  // Whether they are finite and do not decrease.
  [[nodiscard]] MASU_EXPORT bool are_usable() const noexcept;
  [[nodiscard]] std::uint64_t bins() const noexcept { return edges_.size() - 1; }
  [[nodiscard]] double first() const noexcept { return edges_.front(); }
  [[nodiscard]] double last() const noexcept { return edges_.back(); }
  [[nodiscard]] bool holds(double x) const noexcept { return x >= first() && x <= last(); }
  // The value must be one that holds() accepts. The last bin has its end.
  [[nodiscard]] std::uint64_t bin(double x) const noexcept {
    const std::uint64_t end = bins() - 1;
    const double guess = (x - first()) * scale_;
    std::uint64_t at = guess < static_cast<double>(end) ? static_cast<std::uint64_t>(guess) : end;
    while (x < edges_[at]) --at;
    while (at != end && x >= edges_[at + 1]) ++at;
    return at;
  }

 private:
  std::vector<double> edges_;
  double scale_ = 0;
};

// The exact total of the weights of each joint bin, below 2^31 of them, row by row: f64, rounded once, or of integer
// weights i64 or u64, modulo 2^64. Values are compared as doubles.
MASU_EXPORT void weigh_few(std::span<const ArrayView> columns, std::span<const EdgeSearch> edges,
                           const ArrayView& weights, const MutableArrayView& totals);

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
// Sums and dot products of floats that are exact and rounded once, by plain and compensated additions and a bound that
// proves the rounding: far less work than an exact total. Where the bound does not prove it there is no result.
#pragma once

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace masu::cpu {

// What a loop knows of a sum: it is sum + error + d, |d| <= bound.
struct QuickPart {
  double sum;
  double error;
  double bound;
};

// The number over `divisor` < 2^52, or with `root` the root of that, rounded to `result`, f32 or f64.
std::optional<double> quick_quotient(const QuickPart& total, double divisor, bool root, Dtype result);

// Up to this number of elements, the errors of additions are accumulated for every dtype.
inline constexpr std::uint64_t quick_few = 64;
// Elements between two reductions: bounds grow with the chains.
inline constexpr std::uint64_t quick_piece = std::uint64_t{1} << 15;

// The sum with `addend`, divided by `divisor`, rounded to `result`, f32 or f64. The whole work is done by all threads
// where it is worth it.
std::optional<double> quick_sum(const float* x, std::uint64_t count, Dtype result, std::uint64_t divisor = 1,
                                double addend = 0);
std::optional<double> quick_sum(const double* x, std::uint64_t count, Dtype result, std::uint64_t divisor = 1,
                                double addend = 0);
std::optional<double> quick_dot(const float* x, const float* y, std::uint64_t count, Dtype result);
std::optional<double> quick_dot(const double* x, const double* y, std::uint64_t count, Dtype result);
// The same of up to quick_rows_together rows of up to quick_piece elements, which are rounded side by side, and whether
// each is certain.
inline constexpr std::uint64_t quick_rows_together = 64;
struct QuickRows {
  std::uint64_t rows;
  std::uint64_t length;
  Dtype result;
  std::uint64_t divisor;
};
void quick_sums(const float* x, const QuickRows& of, double* results, std::uint8_t* sure);
void quick_sums(const double* x, const QuickRows& of, double* results, std::uint8_t* sure);
// The product of up to quick_dot_stored stored floats, rounded to their dtype.
inline constexpr std::uint64_t quick_dot_stored = 4096;
std::optional<double> quick_stored_dot(Dtype dtype, const void* x, const void* y, std::uint64_t count);

// n sum(x^2) - sum(x)^2 over n (n - ddof), or with `root` its root, rounded to `result`.
struct QuickSpread {
  std::uint64_t count;  // n
  std::uint64_t ddof;
  bool root;
  Dtype result;
};
// Up to quick_spread_elements elements, by the calling thread.
inline constexpr std::uint64_t quick_spread_elements = std::uint64_t{1} << 15;
std::optional<double> quick_spread(const float* x, const QuickSpread& what);
std::optional<double> quick_spread(const double* x, const QuickSpread& what);

}  // namespace masu::cpu

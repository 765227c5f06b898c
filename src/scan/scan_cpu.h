// SPDX-License-Identifier: Apache-2.0
// Scanning on the CPU.
#pragma once

#include "elements/each_type.h"
#include "sum/fixed_point.h"

#include <masu/dtype.h>
#include <masu/scan.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace masu::cpu {

// Running sums of floats by additions of doubles whose errors are added up beside them. A bound on what is still not
// known proves the rounding of a prefix: almost always, for a tenth of the work of a long number.

// A sum that is sum + error + d, |d| <= bound.
struct NearSum {
  double sum = 0;
  double error = 0;
  double bound = 0;
};

inline constexpr std::size_t quick_prefix_elements = 1024;
inline constexpr std::size_t quick_prefix_lines = 16;

// Up to quick_prefix_lines lines whose elements are `step` from each other, and whose first ones are `next`.
struct PrefixLines {
  std::size_t lines;
  std::uint64_t length;
  std::uint64_t step;
  std::uint64_t next;
};

// Writes the sums before (exclusive) or up to each of at most quick_prefix_elements elements, and moves `state` past
// the last. If one prefix's rounding is not certain, returns false and has changed nothing. `y` may be `x`.
#define MASU_QUICK_PREFIXES(name, T) \
  bool quick_prefixes(const T* x, T* y, std::size_t count, bool exclusive, NearSum& state);
MASU_EACH_FLOAT(MASU_QUICK_PREFIXES)
#undef MASU_QUICK_PREFIXES
// The same of whole lines. Where one prefix is not certain, returns false and may have written some. `y` is not `x`.
bool quick_lines(const float* x, float* y, const PrefixLines& of, bool exclusive);
bool quick_lines(const double* x, double* y, const PrefixLines& of, bool exclusive);

}  // namespace masu::cpu

namespace masu {

// Exact running sums of floats, each prefix rounded once.

// A running sum: the exact total of all that came, and beside it a sum of doubles that is near to it, from which most
// prefixes are rounded.
class PrefixSum {
 public:
  // Adds floats; where `output` is not null, writes the rounded sum before (exclusive) or
  // up to each. `output` may be `input`. `last`: the sum after them is not needed.
  template <class T>
  void run(const T* input, T* output, std::uint64_t count, bool exclusive, bool last);
  // Adds digits[i] * 2^(32 i - 1088), and numbers that are not finite.
  void add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity);
  // Adds what another one has added.
  void merge(const PrefixSum& later);

 private:
  fixed::Sum total_;
  std::optional<cpu::NearSum> near_ = cpu::NearSum();  // where it is known
};

// The running sums of lines, outer x length x inner elements with the lines along the middle, by the calling thread.
// `y` may be `x` where `inner` is 1.
template <class T>
void run_lines(const T* x, T* y, std::uint64_t outer, std::uint64_t length, std::uint64_t inner, bool exclusive);
// The inclusive ones of floats, to memory of that dtype elsewhere.
MASU_EXPORT void running_sums(const ArrayView& x, void* sums, std::uint64_t outer, std::uint64_t length,
                              std::uint64_t inner);

// What came before: bits of the dtype, or the exact sum.
struct ScanState {
  std::uint64_t bits = 0;
  PrefixSum sum;
};

// What is scanned, and how. `output` may be `input` where their elements are of one size; `flags` may be null.
struct ScanJob {
  Dtype from;   // of the input: `dtype`, or of fewer bytes where sums of integers have 8
  Dtype dtype;  // of results
  ScanOp op;
  bool exclusive;
  const std::byte* input;
  std::byte* output;
  std::uint64_t count;
  std::uint64_t rows;
  const std::uint8_t* flags;
};

// Scans. Where `state` is not null there is one row and no flags: goes on from it and leaves there what comes next.
void scan_cpu(const ScanJob& job, ScanState* state = nullptr);

}  // namespace masu

namespace masu::cpu {

// The loops over elements of one segment, compiled once for each instruction set. The states are bits of the dtype; not
// for sums of floats.

// Scans; returns the state after the last element. `output` may be `input` where their elements are of one size.
std::uint64_t scan_elements(Dtype from, Dtype dtype, ScanOp op, bool exclusive, const void* input, void* output,
                            std::uint64_t count, std::uint64_t state);

// Only the state after the last element.
std::uint64_t scan_total(Dtype from, Dtype dtype, ScanOp op, const void* input, std::uint64_t count,
                         std::uint64_t state);

}  // namespace masu::cpu

// SPDX-License-Identifier: Apache-2.0
#include "running_columns.h"

#include "every_processor.h"
#include "host_lines.h"
#include "sum/compensated.h"

#include <masu/transpose.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace masu_python {
namespace {

// Doubles side by side, as the compiler has them for every processor.
constexpr std::size_t lanes = 8;
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));
using Flags = std::int64_t __attribute__((vector_size(lanes * sizeof(double))));

// masu::Compensated in each lane.
struct Sums {
  Lanes sum{};
  Lanes error{};
  Lanes lost{};
};

// As masu::add_exactly(), and masu::Compensated::add() without that last magnitude.
#define MASU_ADD_EXACTLY(total, x, rest)           \
  {                                                \
    const Lanes before = total;                    \
    total = before + (x);                          \
    const Lanes part = total - before;             \
    rest = (before - (total - part)) + ((x)-part); \
  }
#define MASU_MAGNITUDE(x) reinterpret_cast<Lanes>(reinterpret_cast<Flags>(x) & magnitude)
#define MASU_ADD(at, x)                              \
  {                                                  \
    Lanes rest;                                      \
    MASU_ADD_EXACTLY((at).sum, x, rest)              \
    Lanes rest_of_rest;                              \
    MASU_ADD_EXACTLY((at).error, rest, rest_of_rest) \
    (at).lost += MASU_MAGNITUDE(rest_of_rest);       \
  }
constexpr std::int64_t magnitude = 0x7fffffffffffffff;

// Adds rows that are `stride` apart.
MASU_FOR_EVERY_PROCESSOR void add_rows(const double* x, std::uint64_t rows, std::uint64_t stride, Sums& sums) {
  Sums at = sums;
  for (std::uint64_t row = 0; row < rows; ++row) {
    Lanes number;
    std::memcpy(&number, x + row * stride, sizeof number);
    MASU_ADD(at, number)
  }
  sums = at;
}

// The same, and writes each sum as masu::certain() rounds it; false where that is not certain.
MASU_FOR_EVERY_PROCESSOR bool run_rows(const double* x, std::uint64_t rows, std::uint64_t stride, Sums& sums,
                                       double* results) {
  Sums at = sums;
  Flags unsure{};
  for (std::uint64_t row = 0; row < rows; ++row) {
    Lanes number;
    std::memcpy(&number, x + row * stride, sizeof number);
    MASU_ADD(at, number)
    Lanes total = at.sum;
    Lanes rest;
    MASU_ADD_EXACTLY(total, at.error, rest)
    const Lanes bound = 2 * at.lost + 0x1p-900;  // more than masu::Compensated has, so that no product is subnormal
    const Lanes wide = bound + (MASU_MAGNITUDE(rest) + bound) * 0x1p-50;
    const Flags is_open = -reinterpret_cast<Flags>(at.lost) >> 63;  // where anything is lost
    const Flags above = reinterpret_cast<Flags>(total + (rest + wide)) ^ reinterpret_cast<Flags>(total);
    const Flags below = reinterpret_cast<Flags>(total + (rest - wide)) ^ reinterpret_cast<Flags>(total);
    unsure |= is_open & (above | below);
    total += 0.0;
    std::memcpy(results + row * stride, &total, sizeof total);
  }
  sums = at;
  bool sure = true;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    // What overflows on the way, or is no number, stays so.
    sure = sure && unsure[lane] == 0 && std::fabs(at.sum[lane]) <= 0x1p1000 && std::fabs(at.error[lane]) <= 0x1p1000;
  }
  return sure;
}

void transpose(const double* from, std::uint64_t height, std::uint64_t width, double* to) {
  masu::transpose(this_cpu(), masu::ConstRecordsView(from, sizeof *from, height * width), height, width,
                  masu::RecordsView(to, sizeof *to, height * width));
}

}  // namespace

bool running_columns(const double* x, std::uint64_t rows, std::uint64_t columns, double* sums) {
  if (columns < lanes) return false;
  for (std::uint64_t c = 0; c < columns; c += lanes) {
    const std::uint64_t first = std::min(c, columns - lanes);  // the last ones may be added twice
    Sums at;
    if (!run_rows(x + first, rows, columns, at, sums + first)) return false;
  }
  return true;
}

bool running_lines(const double* x, std::uint64_t lines, std::uint64_t length, double* sums) {
  constexpr std::uint64_t together = 4 * lanes;
  if (lines < lanes) return false;
  std::vector<double> columns(2 * together * length);
  double* const results = columns.data() + together * length;
  for (std::uint64_t line = 0; line < lines; line += together) {
    const std::uint64_t first = std::min(line, lines - std::min(lines, together));  // the last ones may be added twice
    const std::uint64_t here = std::min(lines, together);
    transpose(x + first * length, here, length, columns.data());
    if (!running_columns(columns.data(), length, here, results)) return false;
    transpose(results, length, here, sums + first * length);
  }
  return true;
}

bool running_line(const double* x, std::uint64_t count, double* sums) {
  constexpr std::uint64_t pieces = 2 * lanes;
  const std::uint64_t length = count / pieces;
  const std::uint64_t even = length * pieces;
  std::vector<double> columns(2 * even);
  double* const results = columns.data() + even;
  transpose(x, pieces, length, columns.data());
  masu::Compensated all;
  std::array<Sums, 2> in_front;  // what stands in front of each piece
  for (std::size_t half = 0; half < in_front.size(); ++half) {
    Sums totals;
    add_rows(columns.data() + half * lanes, length, pieces, totals);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      in_front[half].sum[lane] = all.sum;
      in_front[half].error[lane] = all.error;
      in_front[half].lost[lane] = all.lost;
      all.add(totals.sum[lane]);
      all.add_error(totals.error[lane]);
      all.lost += totals.lost[lane];
    }
  }
  for (std::size_t half = 0; half < in_front.size(); ++half) {
    if (!run_rows(columns.data() + half * lanes, length, pieces, in_front[half], results + half * lanes)) return false;
  }
  transpose(results, length, pieces, sums);
  for (std::uint64_t i = even; i < count; ++i) {
    all.add(x[i]);
    const auto rounded = all.rounded<double>();
    if (!rounded) return false;
    sums[i] = *rounded;
  }
  return true;
}

}  // namespace masu_python

// SPDX-License-Identifier: Apache-2.0
// Exact running sums of lines side by side, each rounded once: a vector of the processor's has as many lines as lanes.
#pragma once

#include <cstdint>

namespace masu_python {

// The running sums of the columns of a matrix, elsewhere. False where one is not certain, and where there are too few.
bool running_columns(const double* x, std::uint64_t rows, std::uint64_t columns, double* sums);
// Those of rows, and of one line, in as many pieces side by side as pay.
bool running_lines(const double* x, std::uint64_t lines, std::uint64_t length, double* sums);
bool running_line(const double* x, std::uint64_t count, double* sums);

}  // namespace masu_python

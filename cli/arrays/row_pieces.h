// SPDX-License-Identifier: Apache-2.0
// Rows of equal length in data that comes in pieces of any length.
#pragma once

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace masu::cli {

// Parts pieces at the ends of rows.
class RowParts {
 public:
  // Takes a part of a row; `ends`: nothing of the row comes after it.
  using Sink = std::function<void(const ArrayView& part, bool ends)>;
  explicit RowParts(std::uint64_t row_length) : row_length_(row_length) {}
  void add(const ArrayView& piece, const Sink& sink);

 private:
  std::uint64_t row_length_;
  std::uint64_t within_ = 0;  // elements of the row that came
};

// Gathers pieces into whole rows. A row that does not come in one piece is copied.
class WholeRows {
 public:
  using Sink = std::function<void(const ArrayView& rows, std::uint64_t count)>;
  explicit WholeRows(std::uint64_t row_length) : row_length_(row_length) {}
  void add(const ArrayView& piece, const Sink& sink);

 private:
  std::uint64_t row_length_;
  std::vector<std::byte> row_;  // what came of a row that is not whole
};

// The elements from `first` on.
ArrayView part_of(const ArrayView& data, std::uint64_t first, std::uint64_t count);

}  // namespace masu::cli

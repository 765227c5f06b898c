// SPDX-License-Identifier: Apache-2.0
// Scans element by element, for --verify and selftest: it shares no code with what it checks.
#pragma once

#include "cli/selftest/reference_exact.h"

#include <masu/scan.h>

#include <cstdint>

namespace masu::cli {

class ReferenceScan {
 public:
  ReferenceScan(Dtype dtype, ScanOp op, bool exclusive) : dtype_(dtype), op_(op), exclusive_(exclusive) {}
  // The bits of the result at the next element, which is element i of the data.
  std::uint64_t next(const ArrayView& data, std::uint64_t i);

 private:
  [[nodiscard]] std::uint64_t value() const;
  void take(const ArrayView& data, std::uint64_t i);

  Dtype dtype_;
  ScanOp op_;
  bool exclusive_;
  bool empty_ = true;
  std::uint64_t bits_ = 0;  // of the extreme, or of the sum of integers
  ReferenceSum sum_;        // of floats
};

}  // namespace masu::cli

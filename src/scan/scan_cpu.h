// SPDX-License-Identifier: Apache-2.0
// Scanning on the CPU.
#pragma once

#include "scan/prefix_sum.h"

#include <masu/scan.h>

#include <cstdint>

namespace masu {

// What came before: bits of the dtype, or the exact sum.
struct ScanState {
  std::uint64_t bits = 0;
  PrefixSum sum;
};

// What is scanned, and how. `output` may be `input`; `flags` may be null.
struct ScanJob {
  Dtype dtype;
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

// SPDX-License-Identifier: Apache-2.0
// The loops over elements of one segment, compiled once for each instruction set. The states are bits of the dtype; not
// for sums of floats.
#pragma once

#include <masu/dtype.h>
#include <masu/scan.h>

#include <cstdint>

namespace masu::cpu {

// Scans; gives the state behind the last element. `output` may be `input`.
std::uint64_t scan_elements(Dtype dtype, ScanOp op, bool exclusive, const void* input, void* output,
                            std::uint64_t count, std::uint64_t state);

// The state behind the last element alone.
std::uint64_t scan_total(Dtype dtype, ScanOp op, const void* input, std::uint64_t count, std::uint64_t state);

}  // namespace masu::cpu

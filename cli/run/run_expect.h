// SPDX-License-Identifier: Apache-2.0
// Comparing what a kernel left in a buffer with what it should have left.
#pragma once

#include "cli/run/run_job.h"

namespace masu::cli {

// `got` element by element with an input of the same dtype. Equal are the same values: a NaN and any NaN, -0 and 0 too.
RunDifference compare(const ArrayView& got, const InputRequest& input);

}  // namespace masu::cli

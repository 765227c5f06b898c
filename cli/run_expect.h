// SPDX-License-Identifier: Apache-2.0
// Comparing what a kernel left in a buffer with what it should have left.
#pragma once

#include "run_job.h"

#include <string>

namespace masu::cli {

// `got` element by element with an input of the same dtype. Equal are the same values: a NaN and any NaN, -0 and 0 too.
RunDifference compare(const ArrayView& got, const InputRequest& input);

// A number of a dtype as JSON has it: "NaN", "Infinity" and "-Infinity" in quotes.
std::string json_element(const ArrayView& array, std::uint64_t index);

}  // namespace masu::cli

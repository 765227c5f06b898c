// SPDX-License-Identifier: Apache-2.0
// What the commands share that turn one array into another: where it goes, and what is said of it.
#pragma once

#include "cli/arrays/array_stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace masu::cli {

// Wrong use: --json where standard output has the array.
void check_array_output(const CommonOptions& common);

// The shape of an array without one: the number of its elements, or rows of equal length. Reads streams through where a
// .npy file wants to know it first.
std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common, std::uint64_t rows = 1);

struct ArrayDone {
  std::uint64_t count = 0;
  double transfer = 0;
  double compute = 0;
  double verifying = 0;   // does not count in the total
  std::string json_more;  // `"op":"sum",` and the like
};
// JSON, notes and times, after the output was committed.
void tell_array(const ArrayStream& stream, const CommonOptions& common, const ArrayDone& done);

}  // namespace masu::cli

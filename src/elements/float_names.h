// SPDX-License-Identifier: Apache-2.0
// The names of the floats in messages.
#pragma once

#include "elements/dtypes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace masu {

// "f16, bf16, f32 or f64".
inline std::string float_names() {
  std::vector<Dtype> floats;
  std::ranges::copy_if(all_dtypes, std::back_inserter(floats), is_float);
  std::ranges::stable_sort(floats, {}, size_of);
  std::vector<std::string_view> names;
  std::ranges::transform(floats, std::back_inserter(names), [](Dtype each) { return to_string(each); });
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reduce/reduce_rank.h"

#include <masu/reduce.h>

#include <vector>

namespace masu {

inline constexpr std::string_view reduce_name = "reduce";  // in messages

// Makes results.
struct ReduceParts {
  static ReduceResult make(Dtype dtype, ReduceOp op, bool skip, const std::vector<Reduced>& rows);
};

}  // namespace masu

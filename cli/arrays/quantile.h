// SPDX-License-Identifier: Apache-2.0
// Quantiles of a stream of any size, of all of it or of each of its rows.
#pragma once

#include "cli/arrays/array_stream.h"

#include <masu/quantile.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace masu::cli {

struct QuantileRequest {
  std::vector<double> q;
  QuantileMethod method = QuantileMethod::linear;
  std::uint64_t memory = 0;
  std::uint64_t rows = 1;
  std::optional<std::uint64_t> row_length;  // where rows were asked for
  std::string_view what = "quantiles";      // that data without values do not have
};

struct QuantileFound {
  std::vector<Quantile> quantiles;  // row by row, in the order of q
  std::uint64_t count = 0;          // elements of the data
  Times times;
};

// Passes over the data until they are found; rows that memory holds are taken as they come. Throws io where a row has
// no values.
QuantileFound find_quantiles(ArrayStream& stream, const QuantileRequest& request);

// The results, as elements of the data where the method chooses such, else as f64.
Column values_of(const std::vector<Quantile>& quantiles, Dtype elements);

}  // namespace masu::cli

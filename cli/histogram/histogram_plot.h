// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/histogram/histogram_result.h"

#include <string>

namespace masu::cli {

// Draws a result: channels over one axis, rows and two columns as a map. A joint histogram has 1 or 2 columns here. The
// path's ending says the format.
void write_plot(const HistogramResult& result, const WriteOptions& options, const std::string& path);

}  // namespace masu::cli

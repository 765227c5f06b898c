// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <masu/dtype.h>

#include <string>
#include <string_view>

namespace masu::cli {

// A text as a JSON string, quotes included; bytes that are not UTF-8 are replaced.
std::string json_string(std::string_view text);
// A number in the shortest form of its dtype; "NaN", "Infinity", "-Infinity" as strings.
std::string json_number(double value, Dtype dtype = Dtype::f64);

}  // namespace masu::cli

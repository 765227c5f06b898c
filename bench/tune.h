// SPDX-License-Identifier: Apache-2.0
// Fits the constants in a primitive's table (src/runtime/tuning.h) to a device.
#pragma once

#include "suites.h"

#include <string>
#include <string_view>

namespace masu::bench {

// Tries values one constant after the other, and keeps what is faster. Gives the table's rows with what was kept, as
// they stand in NAME_tuning.def. Throws invalid_argument for a name without a table, or several devices.
std::string fit_table(std::string_view name, const Request& request);

}  // namespace masu::bench

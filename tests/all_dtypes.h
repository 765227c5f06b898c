// SPDX-License-Identifier: Apache-2.0
// The dtypes of tests: all of the table.
#pragma once

#include "elements/dtypes.h"

namespace masu::test {

using masu::all_dtypes;

}  // namespace masu::test

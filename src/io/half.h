// SPDX-License-Identifier: Apache-2.0
// The runtime's conversions of f16 under their short names.
#pragma once

#include "runtime/half.h"

namespace masu::io {

using runtime::to_double;
using runtime::to_half;

}  // namespace masu::io

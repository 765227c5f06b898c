// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 to and from double, round to nearest even; and to float.
#pragma once

#include "elements/stored_float.h"

namespace masu::runtime {

using masu::to_double;
using masu::to_float;
inline Half to_half(double value) noexcept {
  return rounded_to<Half>(value);
}

}  // namespace masu::runtime

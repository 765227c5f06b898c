// SPDX-License-Identifier: Apache-2.0
// For finding faults: with the environment variable MASU_SYNC, a launch is waited for, so that what it caused is told
// by the call that made it and not by a later one.
#pragma once

#include "runtime/backend.h"

namespace masu::runtime {

// Whether MASU_SYNC is set, to something else than 0, when this is first asked.
[[nodiscard]] bool waits_for_launches();

// Waits for the launch that `stream` was given last, if so it is set and the stream may be waited for. An error names
// the kernel.
void settle(Stream& stream, const Kernel& kernel);

}  // namespace masu::runtime

// SPDX-License-Identifier: Apache-2.0
// The calls whose kernels `masu cache build` compiles.
#pragma once

#include <masu/device.h>
#include <functional>

namespace masu::cli {

// Runs them on the device, in the order of how often programs make them; while `go_on`, asked after some of them, says
// so.
void run_common_calls(const Device& device, const std::function<bool()>& go_on);

}  // namespace masu::cli

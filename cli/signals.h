// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace masu::cli {

// From now on a signal that ends the command removes its unfinished files first: SIGINT exits 130, a reader that went
// away ends it silently, SIGTERM and SIGHUP end it as they always do.
void handle_signals();

}  // namespace masu::cli

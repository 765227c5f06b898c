// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace masu::cli {

// From now on a signal that ends the command removes its unfinished files first: SIGINT exits 130, a reader that went
// away ends it silently, SIGTERM and SIGHUP end it as they always do.
// `said` is written to standard error by SIGINT, SIGTERM and SIGHUP; it must be there until the end.
void handle_signals(const char* said = nullptr);

}  // namespace masu::cli

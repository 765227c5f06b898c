// SPDX-License-Identifier: Apache-2.0
// What `masu run` writes.
#pragma once

#include "cli/run/run_job.h"

namespace masu::cli {

// The buffers that were asked for: those with a file into it, the others on standard output, one value a line.
void write_outputs(const RunResult& result);
// The same, but one JSON object on standard output.
void write_outputs_as_json(const RunJob& job, const RunResult& result);
// On standard error: a line for each expectation that was not met.
void note_differences(const RunResult& result);
// On standard error: --time.
void note_times(const RunResult& result);

}  // namespace masu::cli

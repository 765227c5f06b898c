// SPDX-License-Identifier: Apache-2.0
// masu run: compiles a kernel, runs it, and says what its buffers hold.
#include "cli/check/check.h"
#include "cli/run/run_job.h"
#include "cli/run/run_options.h"
#include "cli/run/run_result.h"
#include "command.h"
#include "terminal.h"

#include <algorithm>
#include <memory>

namespace masu::cli {
namespace {

Exit run_command(const RunOptions& asked) {
  const RunJob job = asked.job();
  const bool checked = !asked.under_oclgrind.empty();  // then the parent reports
  if (asked.check && !checked) return check_kernel(asked.check_request(job));
  const RunResult result = run_kernel(job);
  if (!asked.quiet && !checked && !result.log.empty()) note(result.log, "\n\t");
  if (asked.json) write_outputs_as_json(job, result);
  else write_outputs(result);
  if (asked.time) note_times(result);
  note_differences(result);
  const bool differs = std::any_of(result.differences.begin(), result.differences.end(),
                                   [](const RunDifference& difference) { return difference.any(); });
  return differs ? Exit::differs : Exit::done;
}

}  // namespace

Command add_run(CommandLine& line) {
  const Subcommand app = line.add("run", "Compile a kernel of yours and run it");
  auto options = std::make_shared<RunOptions>();
  options->add_to(app);
  return {app, [options] { return run_command(*options); }};
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// masu sort: what is said of its result.
#include "cli/arrays/array_input.h"
#include "cli/sort/sort_check.h"
#include "cli/sort/sort_job.h"
#include "command.h"
#include "json.h"
#include "ranks.h"
#include "terminal.h"

#include <fmt/format.h>
#include <masu/bitonic.h>
#include <masu/io.h>
#include <memory>

namespace masu::cli {
namespace {

void print_text(const std::string& text) {
  io::OutputFile output("-");
  output.write(text);
  output.commit();
}

Exit check(const SortCommandOptions& asked) {
  const OrderCheck found = check_order(asked);
  if (!ranks().first()) return Exit::done;
  if (asked.common.json) {
    const std::string place = found.out_of_order ? fmt::format(R"(,"first":{})", *found.out_of_order) : "";
    print_text(fmt::format("{{\"sorted\":{},\"dtype\":\"{}\",\"device\":{}{}{},{}}}\n", !found.out_of_order,
                           to_string(found.dtype), json_string(found.device), place, json_bad_lines(found.bad_lines),
                           json_seconds(found.seconds)));
  }
  if (!asked.common.quiet) note_bad_lines(found.name, found.bad_lines);
  if (asked.common.time) note_times(found.seconds, found.count * size_of(found.dtype));
  if (!found.out_of_order) return Exit::done;
  if (!asked.common.json && !asked.common.quiet) {
    note(fmt::format("masu: {}: not sorted: element {} is {}, behind {}", found.name, *found.out_of_order,
                     found.element, found.before));
  }
  return Exit::differs;
}

std::string trace(std::uint64_t length) {
  std::string text;
  for (const BitonicPass& pass : bitonic_schedule(length)) {
    const std::string stage = pass.merge ? "merge" : fmt::format("stage={}", pass.stage);
    text += fmt::format("{} pass={} distance={}\n", stage, pass.pass, pass.distance);
  }
  return text;
}

Exit run_command(SortCommandOptions& asked) {
  asked.check();
  apply(asked.common);
  if (asked.is_sorted) return check(asked);
  Progress progress(progress_mode(asked.common));
  const SortSummary done = run_sort(asked, progress);
  if (!ranks().first()) return Exit::done;
  if (asked.trace) print_text(trace(done.count / done.rows));
  if (asked.common.json) {
    print_text(
        fmt::format("{{\"n\":{},\"dtype\":\"{}\",\"device\":{},\"algorithm\":\"{}\",\"order\":\"{}\",\"rows\":{},"
                    "\"runs\":{}{},{}}}\n",
                    done.count, to_string(done.dtype), json_string(done.device), asked.algorithm,
                    asked.descending ? "descending" : "ascending", done.rows, done.runs, json_bad_lines(done.bad_lines),
                    json_seconds(done.seconds)));
  }
  note_result(asked.common, done.name, done.bad_lines, done.count);
  if (asked.common.time) note_times(done.seconds, done.bytes);
  return Exit::done;
}

}  // namespace

Command add_sort(CommandLine& line) {
  const Subcommand app = line.add("sort", "Bring values into order");
  auto options = std::make_shared<SortCommandOptions>();
  options->add_to(app);
  return {app, [options] { return run_command(*options); }};
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
// The command masu. Its subcommand bench measures by a program of its own, masu-bench beside this one, which is this
// command with another run_bench().
#include "bench/selection.h"
#include "options.h"
#include "program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace masu::cli {

[[gnu::weak]] Exit run_bench(const bench::Options& /*options*/) {
  const std::string program = own_program() + "-bench";
  std::vector<std::string> arguments = command_line();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw Error(ErrorCode::io, "bench: " + program + " cannot be run (" + std::strerror(errno) +
                                 "); it is built by the target masu_bench_program");
}

void add_bench(CommandLine& line) {
  auto options = std::make_shared<bench::Options>();
  const Subcommand app = line.add("bench", "Measure masu next to the reading or copying speed of each device",
                                  [options] { return run_bench(*options); });
  app.add_option("SUITE", options->suite, "",
                 "What to measure: " + fmt::format("{}", fmt::join(bench::suite_names, ", ")) + "; tune: fit constants")
      .required();
  app.add_option("TABLE", options->table, "", "After tune: the primitive whose constants are fitted to the device");
  app.add_option("--device", options->devices, "ID", "cpu, opencl:N, cuda:N; repeatable (every usable device)")
      .delimiter(',');
  app.add_option("--strategy,--algorithm", options->strategies, "STRATEGY",
                 "histogram: " + words_of("STRATEGY") + "; others: as their command's --algorithm (auto)")
      .delimiter(',');
  app.add_option("--kind", options->kinds, "KIND",
                 "kernel, call, pinned or pageable: data on the device, whole calls, data in page-locked and in "
                 "ordinary host memory (kernel, call)")
      .delimiter(',');
  app.add_flag("--ladder", options->ladder,
               "histogram: every strategy side by side, for u8-256 unless cases are named");
  bench::add_selection(app, options->selection);
  app.add_flag("--json", options->json, "Write the report as JSON");
  app.add_option("--chart", options->chart, "FILE", "Write a chart to FILE, by its ending: .svg, .png or .pdf");
  app.add_option("-o,--output", options->output, "FILE", "Write the report to FILE, whole or not at all");
  app.footer(
      "Examples:\n  masu bench histogram\n"
      "  masu bench histogram --device cuda:0 --size 1Gi --case u8-256 --chart h.svg\n"
      "  masu bench sort --count 256Mi,64Ki --case u32,pairs-u32-u32 --distribution all\n"
      "  masu bench histogram --ladder --chart ladder.svg\n"
      "  masu bench tune sum --device cuda:0");
}

}  // namespace masu::cli

int main(int argc, char** argv) {
  using namespace masu::cli;
  constexpr void (*commands[])(CommandLine & line) = {
      add_histogram,         add_sort,    add_topk,  add_unique,    add_quantile, add_reduce,
      add_single_reductions, add_dot,     add_scan,  add_transpose, add_convert,  add_run,
      add_devices,           add_formats, add_cache, add_selftest,  add_bench};
  return run_program({"masu", "Count, order and sum data at memory speed, with the same bits on every processor.",
                      commands, exit_statuses},
                     argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// The command masu.
#include "program.h"

int main(int argc, char** argv) {
  using namespace masu::cli;
  constexpr Command (*commands[])(CommandLine & line) = {
      add_histogram, add_reduce,    add_dot,     add_sort, add_topk,    add_unique,   add_quantile,
      add_scan,      add_transpose, add_convert, add_run,  add_devices, add_selftest, add_bench};
  return run_program({"masu", "Count, order and sum data at memory speed, with the same bits on every processor.",
                      commands, exit_statuses},
                     argc, argv);
}

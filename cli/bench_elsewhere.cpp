// SPDX-License-Identifier: Apache-2.0
// Hands `masu bench` over to the program masu-bench, which lies beside this one.
#include "bench/selection.h"
#include "program.h"

#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace masu::cli {

Exit run_bench(const bench::Options& /*options*/) {
  const std::string program = own_program() + "-bench";
  std::vector<std::string> arguments = command_line();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw Error(ErrorCode::io, "bench: " + program + " cannot be run (" + std::strerror(errno) +
                                 "); it is built by the target masu_bench_program");
}

}  // namespace masu::cli

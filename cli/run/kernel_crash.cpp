// SPDX-License-Identifier: Apache-2.0
#include "cli/run/kernel_crash.h"

#include "errors.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <unistd.h>
#include <array>
#include <csignal>

namespace masu::cli {
namespace {

struct Crash {
  int signal;
  const char* what;
};
constexpr std::array<Crash, 5> crashes{{
    {SIGSEGV, "accessed memory that does not exist (SIGSEGV); --check says where"},
    {SIGBUS, "accessed memory that does not exist (SIGBUS); --check says where"},
    {SIGABRT, "damaged the memory of this process (SIGABRT); --check says where"},
    {SIGFPE, "divided an integer by zero (SIGFPE)"},
    {SIGILL, "ran an instruction that does not exist (SIGILL)"},
}};

// For the handler, which may not allocate: a line for each signal.
std::array<std::string, crashes.size()> lines;

extern "C" void end_crashed_run(int signal) {
  io::remove_unfinished();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (crashes[i].signal != signal) continue;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, lines[i].data(), lines[i].size());
  }
  _exit(static_cast<int>(Exit::failed));
}

}  // namespace

void blame_crashes_on(const std::string& kernel) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = fmt::format("masu run: the kernel {} {}\n", kernel, crashes[i].what);
    struct sigaction action {};
    action.sa_handler = end_crashed_run;
    sigemptyset(&action.sa_mask);
    sigaction(crashes[i].signal, &action, nullptr);
  }
}

}  // namespace masu::cli

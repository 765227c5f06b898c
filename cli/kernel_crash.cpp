// SPDX-License-Identifier: Apache-2.0
#include "kernel_crash.h"

#include "errors.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <unistd.h>

namespace masu::cli {
namespace {

// For the handler, which may not allocate: a line for each signal.
std::array<std::string, KernelCrash::signals.size()> lines;

extern "C" void end_crashed_run(int signal) {
  io::remove_unfinished();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (KernelCrash::signals[i] != signal) continue;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, lines[i].data(), lines[i].size());
  }
  _exit(static_cast<int>(Exit::failed));
}

}  // namespace

KernelCrash::KernelCrash(const std::string& kernel) {
  constexpr std::array<const char*, signals.size()> what{
      "accessed memory that does not exist (SIGSEGV); --check says where",
      "accessed memory that does not exist (SIGBUS); --check says where",
      "divided an integer by zero (SIGFPE)",
      "ran an instruction that does not exist (SIGILL)",
  };
  for (std::size_t i = 0; i < signals.size(); ++i) {
    lines[i] = fmt::format("masu run: the kernel {} {}\n", kernel, what[i]);
    struct sigaction action {};
    action.sa_handler = end_crashed_run;
    sigemptyset(&action.sa_mask);
    sigaction(signals[i], &action, &before_[i]);
  }
}

KernelCrash::~KernelCrash() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
}

}  // namespace masu::cli

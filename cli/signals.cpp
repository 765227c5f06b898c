// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include "command.h"

#include <masu/io.h>

#include <unistd.h>
#include <csignal>
#include <cstddef>
#include <cstring>

namespace masu::cli {
namespace {

const char* said_at_the_end = nullptr;
std::size_t said_letters = 0;

// Only async-signal-safe calls below.
extern "C" void end_command(int signal) {
  io::remove_unfinished();
  const bool asked_to = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  if (asked_to && said_letters != 0 && ::write(STDERR_FILENO, said_at_the_end, said_letters) < 0) said_letters = 0;
  switch (signal) {
    case SIGINT: _exit(static_cast<int>(Exit::interrupted));
    case SIGPIPE: _exit(static_cast<int>(Exit::done));
    default: break;
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void handle(int signal, bool keep_ignored) {
  struct sigaction old {};
  sigaction(signal, nullptr, &old);
  if (keep_ignored && old.sa_handler == SIG_IGN) return;  // nohup, or a shell's background job
  struct sigaction action {};
  action.sa_handler = end_command;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void handle_signals(const char* said) {
  said_at_the_end = said;
  said_letters = said == nullptr ? 0 : std::strlen(said);
  handle(SIGINT, true);
  handle(SIGHUP, true);
  handle(SIGTERM, true);
  handle(SIGQUIT, true);
  handle(SIGALRM, true);
  handle(SIGXCPU, true);
  handle(SIGPIPE, false);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grew too large is an error of the write
}

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include "command.h"

#include <masu/io.h>

#include <unistd.h>
#include <csignal>

namespace masu::cli {
namespace {

// Only async-signal-safe calls below.
extern "C" void end_command(int signal) {
  io::remove_unfinished();
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

void handle_signals() {
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

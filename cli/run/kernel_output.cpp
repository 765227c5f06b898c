// SPDX-License-Identifier: Apache-2.0
#include "cli/run/kernel_output.h"

#include <fcntl.h>
#include <masu/error.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace masu::cli {

KernelOutput::KernelOutput(bool to_standard_error) {
  // Whole lines leave at once, so that none is lost where the process must be ended.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  if (!to_standard_error) return;
  saved_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (saved_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    const std::string reason = std::strerror(errno);
    restore();
    throw Error(ErrorCode::io, "standard output: cannot be redirected: " + reason);
  }
}

void KernelOutput::restore() noexcept {
  std::fflush(stdout);
  if (saved_ < 0) return;
  dup2(saved_, STDOUT_FILENO);
  ::close(saved_);
  saved_ = -1;
}

}  // namespace masu::cli

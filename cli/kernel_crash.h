// SPDX-License-Identifier: Apache-2.0
// A kernel on an OpenCL CPU device runs in this process, and its faults are the process's.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace masu::cli {

// While it lives, a signal by which the processor refuses what a kernel does (memory that is nobody's, a division by
// zero) ends the process with exit status 1 and one line. One at a time.
class KernelCrash {
 public:
  explicit KernelCrash(const std::string& kernel);
  KernelCrash(const KernelCrash&) = delete;
  KernelCrash& operator=(const KernelCrash&) = delete;
  ~KernelCrash();

  static constexpr std::array<int, 4> signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};

 private:
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace masu::cli

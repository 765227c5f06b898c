// SPDX-License-Identifier: Apache-2.0
// Where the printf of a kernel goes. Drivers write it to descriptor 1 themselves, at once or at the end of a launch.
#pragma once

namespace masu::cli {

// While it lives, what the process writes to standard output goes to standard error, if that is wished.
class KernelOutput {
 public:
  explicit KernelOutput(bool to_standard_error);
  KernelOutput(const KernelOutput&) = delete;
  KernelOutput& operator=(const KernelOutput&) = delete;
  ~KernelOutput() { restore(); }

  void restore() noexcept;

 private:
  int saved_ = -1;
};

}  // namespace masu::cli

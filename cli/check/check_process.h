// SPDX-License-Identifier: Apache-2.0
// A child process that never outlives this one, with a time limit.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

// A file without a name, which a child can open by path(); gone with the last process that has it open.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string read() const;
  void write(const std::string& text) const;

 private:
  int descriptor_;
};

struct Child {
  std::vector<std::string> arguments;    // the program first; it is looked for in PATH
  std::vector<std::string> environment;  // NAME=VALUE
  int output = -1;                       // standard output; -1: this process's
  std::optional<std::chrono::duration<double>> timeout;
};

struct ChildEnd {
  int status = 0;      // as it exited, where signal is 0
  int signal = 0;      // that ended it
  int exec_error = 0;  // errno of a program that could not be started
  bool timed_out = false;
};

// Runs it to its end. At the time limit it gets SIGTERM, so that it removes its unfinished files, and soon SIGKILL.
ChildEnd run_child(const Child& child);

}  // namespace masu::cli

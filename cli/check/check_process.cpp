// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check_process.h"

#include <masu/error.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace masu::cli {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::io, std::string("run: --check: ") + what + ": " + std::strerror(errno));
}

class Pipe {
 public:
  explicit Pipe(int flags) {
    if (::pipe2(ends_.data(), flags) != 0) fail("no pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  [[nodiscard]] int read_end() const noexcept { return ends_[0]; }
  [[nodiscard]] int write_end() const noexcept { return ends_[1]; }
  void close_read() noexcept { close(ends_[0]); }
  void close_write() noexcept { close(ends_[1]); }

 private:
  static void close(int& end) noexcept {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Waits until the other end is closed; false when the time is over before.
bool wait_closed(int descriptor, std::optional<Clock::time_point> deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      milliseconds = static_cast<int>(std::clamp<decltype(left)>(left, 0, 1 << 30));
    }
    pollfd poll{descriptor, POLLIN, 0};
    const int ready = ::poll(&poll, 1, milliseconds);
    if (ready > 0) return true;
    if (ready == 0 && deadline && Clock::now() >= *deadline) return false;
    if (ready < 0 && errno != EINTR) fail("poll");
  }
}

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(pid_t parent, int output, int error_pipe, char* const* arguments, char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int signal : {SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  if (::getppid() != parent) ::_exit(1);  // it ended before it could be asked to tell
  if (output < 0 || ::dup2(output, STDOUT_FILENO) >= 0) ::execvpe(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(error_pipe, &error, sizeof(error));
  ::_exit(127);
}

}  // namespace

MemoryFile::MemoryFile(const char* name) : descriptor_(::memfd_create(name, 0)) {
  if (descriptor_ < 0) fail("no memory file");
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

std::string MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

std::string MemoryFile::read() const {
  std::string text;
  std::array<char, 1 << 16> piece;
  for (;;) {
    const ssize_t count = ::pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

void MemoryFile::write(const std::string& text) const {
  if (::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) fail("no memory");
}

ChildEnd run_child(const Child& child) {
  std::vector<std::string> arguments = child.arguments;
  std::vector<std::string> environment = child.environment;
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  Pipe exec_error(O_CLOEXEC);
  Pipe lives(0);  // kept open by the child, whatever it becomes, and closed by its end
  const auto begin = Clock::now();
  const pid_t self = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) fail("no process");
  if (id == 0) {
    lives.close_read();
    become(self, child.output, exec_error.write_end(), argument_pointers.data(), environment_pointers.data());
  }
  exec_error.close_write();
  lives.close_write();

  ChildEnd end;
  std::optional<Clock::time_point> deadline;
  if (child.timeout) deadline = begin + std::chrono::ceil<Clock::duration>(*child.timeout);
  if (!wait_closed(lives.read_end(), deadline)) {
    end.timed_out = true;
    ::kill(id, SIGTERM);
    if (!wait_closed(lives.read_end(), Clock::now() + std::chrono::seconds(2))) ::kill(id, SIGKILL);
  }
  int status = 0;
  while (::waitpid(id, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  if (::read(exec_error.read_end(), &end.exec_error, sizeof(end.exec_error)) != sizeof(end.exec_error)) {
    end.exec_error = 0;
  }
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  return end;
}

}  // namespace masu::cli

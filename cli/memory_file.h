// SPDX-License-Identifier: Apache-2.0
// Memory as a file, for commands and child processes to read and write, and standard streams that go elsewhere.
#pragma once

#include "io/reader.h"

#include <masu/error.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace masu::cli {

[[noreturn]] inline void fail_by_errno(const std::string& what) {
  throw Error(ErrorCode::io, what + ": " + std::strerror(errno));
}

// A file without a name, which a child can open by path(); gone with the last process that has it open.
class MemoryFile {
 public:
  // `command` is named in errors.
  explicit MemoryFile(const char* command) : command_(command), file_(::memfd_create(command, 0)) {
    if (file_.get() < 0) fail_by_errno(command_ + ": no memory file");
  }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor()); }
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 1 << 16> piece;
    for (;;) {
      const ssize_t count = ::pread(descriptor(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_by_errno(command_ + ": a file in memory cannot be read");
      if (count == 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
  }
  void write(const std::string& text) const {
    if (::pwrite(descriptor(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      fail_by_errno(command_ + ": no memory");
  }

 private:
  std::string command_;
  io::Descriptor file_;
};

// While it lives, what the process writes to standard output or standard error goes to another open file.
class Redirected {
 public:
  // `what` is the message of an error, before its reason.
  Redirected(std::FILE* stream, int target, const std::string& what)
      : stream_(stream), saved_(::fcntl(::fileno(stream), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    std::fflush(stream_);
    if (saved_ >= 0 && ::dup2(target, ::fileno(stream_)) >= 0) return;
    const std::string reason = std::strerror(errno);
    end();
    throw Error(ErrorCode::io, what + ": " + reason);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() { end(); }
  void end() noexcept {
    std::fflush(stream_);
    if (saved_ < 0) return;
    ::dup2(saved_, ::fileno(stream_));
    ::close(std::exchange(saved_, -1));
  }

 private:
  std::FILE* stream_;
  int saved_;
};

}  // namespace masu::cli

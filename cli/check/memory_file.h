// SPDX-License-Identifier: Apache-2.0
// Memory as a file: what a child of `masu run --check` reads and writes.
#pragma once

#include <masu/error.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace masu::cli {

[[noreturn]] inline void fail_check(const char* what) {
  throw Error(ErrorCode::io, std::string("run: --check: ") + what + ": " + std::strerror(errno));
}

// A file without a name, which a child can open by path(); gone with the last process that has it open.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, 0)) {
    if (descriptor_ < 0) fail_check("no memory file");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 1 << 16> piece;
    for (;;) {
      const ssize_t count = ::pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
  }
  void write(const std::string& text) const {
    if (::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      fail_check("no memory");
  }

 private:
  int descriptor_;
};

}  // namespace masu::cli

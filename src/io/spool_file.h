// SPDX-License-Identifier: Apache-2.0
// A temporary file that has no name: nothing of it stays behind, however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace masu::io {

// An open file. Standard input is not closed.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class SpoolFile {
 public:
  // `name` is that of the input, for messages. "" as the folder is $TMPDIR, else /tmp.
  SpoolFile(std::string name, std::string folder);

  [[nodiscard]] bool exists() const noexcept { return fd_.get() >= 0; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // The first call makes the file. Throws io.
  void append(const void* data, std::size_t bytes);
  // Reads up to `bytes` from a position below size(), at least one byte. Throws io.
  std::size_t read(void* target, std::size_t bytes, std::uint64_t position) const;

 private:
  void open();
  std::string name_;
  std::string folder_;
  Descriptor fd_;
  std::uint64_t size_ = 0;
};

}  // namespace masu::io

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
  // "" as the folder is $TMPDIR, else /tmp. The first append() makes the file.
  explicit SpoolFile(std::string folder);

  [[nodiscard]] bool exists() const noexcept { return fd_.get() >= 0; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Both throw io, naming the folder and the reason.
  void append(const void* data, std::uint64_t bytes);
  void read(void* target, std::uint64_t bytes, std::uint64_t position) const;
  // Says that these bytes will be read soon.
  void expect(std::uint64_t bytes, std::uint64_t position) const noexcept;
  // Gives the disk these bytes back, where the file system can; they are not read again.
  void release(std::uint64_t bytes, std::uint64_t position) const noexcept;

 private:
  void open();
  std::string folder_;
  Descriptor fd_;
  std::uint64_t size_ = 0;
};

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// A temporary file that has no name: nothing of it stays behind, however the command ends.
#pragma once

#include <cstdint>
#include <string>

namespace masu::cli {

class ExternalFile {
 public:
  // In `folder`, or where that is empty, in $TMPDIR or /tmp. It is made by the first write.
  explicit ExternalFile(std::string folder);
  ExternalFile(const ExternalFile&) = delete;
  ExternalFile& operator=(const ExternalFile&) = delete;
  ExternalFile(ExternalFile&& other) noexcept;
  ExternalFile& operator=(ExternalFile&&) = delete;
  ~ExternalFile();

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
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace masu::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/external_file.h"

#include "io/reader.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t largest_transfer = std::uint64_t{1} << 30U;

}  // namespace

ExternalFile::ExternalFile(std::string folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) return;
  const char* variable = std::getenv("TMPDIR");
  folder_ = variable != nullptr && *variable != '\0' ? variable : "/tmp";
}

ExternalFile::ExternalFile(ExternalFile&& other) noexcept
    : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

ExternalFile::~ExternalFile() {
  if (fd_ >= 0) ::close(fd_);
}

void ExternalFile::open() {
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {  // a file system without such files
    std::string path = folder_ + "/masu-XXXXXX";
    fd_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(path.c_str());
  }
  if (fd_ < 0) io::fail_errno(folder_, "cannot make a temporary file", errno);
}

void ExternalFile::append(const void* data, std::uint64_t bytes) {
  if (fd_ < 0) open();
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes != 0) {
    const ssize_t put = ::pwrite(fd_, from, std::min(bytes, largest_transfer), static_cast<off_t>(size_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) io::fail_errno(folder_, "writing a temporary file failed", errno);
    from += put;
    size_ += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::uint64_t>(put);
  }
}

void ExternalFile::read(void* target, std::uint64_t bytes, std::uint64_t position) const {
  auto* to = static_cast<std::byte*>(target);
  while (bytes != 0) {
    const ssize_t got = ::pread(fd_, to, std::min(bytes, largest_transfer), static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) io::fail_errno(folder_, "reading a temporary file failed", errno);
    if (got == 0) io::fail_io(folder_, "a temporary file was cut short");
    to += got;
    position += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

void ExternalFile::expect(std::uint64_t bytes, std::uint64_t position) const noexcept {
  ::posix_fadvise(fd_, static_cast<off_t>(position), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void ExternalFile::release(std::uint64_t bytes, std::uint64_t position) const noexcept {
  ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(position), static_cast<off_t>(bytes));
}

}  // namespace masu::cli

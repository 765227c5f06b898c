// SPDX-License-Identifier: Apache-2.0
// Files and pipes as streams. What cannot go back and may be read again is kept: up to 1 MiB in
// memory, then in a SpoolFile.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "io/reader.h"

namespace masu::io {
namespace {

constexpr std::size_t memory_bytes = std::size_t{1} << 20;
constexpr std::size_t largest_read = std::size_t{1} << 30;

std::size_t read_some(int fd, std::byte* target, std::size_t bytes, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(fd, target, std::min(bytes, largest_read));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_errno(name, "reading failed", errno);
  }
}

class SeekableStream final : public ByteStream {
 public:
  SeekableStream(Descriptor fd, std::string name, std::uint64_t base, std::uint64_t size, bool regular)
      : fd_(std::move(fd)), name_(std::move(name)), base_(base), size_(size), regular_(regular) {}
  std::size_t read(std::byte* target, std::size_t bytes) override {
    const std::size_t got = read_some(fd_.get(), target, bytes, name_);
    if (got == 0 && bytes != 0 && regular_) check_end();
    return got;
  }
  void seek(std::uint64_t position) override {
    if (::lseek(fd_.get(), static_cast<off_t>(base_ + std::min(position, size_)), SEEK_SET) < 0)
      fail_errno(name_, "seeking failed", errno);
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] int file() const override { return regular_ && base_ == 0 ? fd_.get() : -1; }
  std::unique_ptr<FileMapping> map() override {
    return regular_ ? FileMapping::map(fd_.get(), base_, size_, name_) : nullptr;
  }

 private:
  // Throws where the file had more bytes when it was opened. Files of /sys say more than they have, always.
  void check_end() const {
    struct stat status {};
    const off_t here = ::lseek(fd_.get(), 0, SEEK_CUR);
    const auto end = static_cast<off_t>(base_ + size_);
    if (here < 0 || here >= end || ::fstat(fd_.get(), &status) != 0 || status.st_size >= end) return;
    fail_io(name_, "ends early: the file shrank while it was read, to {} of {} bytes", status.st_size, end);
  }
  Descriptor fd_;
  std::string name_;
  std::uint64_t base_;
  std::uint64_t size_;
  bool regular_;
};

class PipeStream final : public ByteStream {
 public:
  PipeStream(Descriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  std::size_t read(std::byte* target, std::size_t bytes) override { return read_some(fd_.get(), target, bytes, name_); }
  void seek(std::uint64_t /*position*/) override { fail_io(name_, "is a stream and cannot go back"); }

 private:
  Descriptor fd_;
  std::string name_;
};

class SpooledStream final : public ByteStream {
 public:
  SpooledStream(std::unique_ptr<ByteStream> from, std::string name, std::string tmpdir)
      : from_(std::move(from)), name_(std::move(name)), file_(std::move(tmpdir)) {
    from_->forget();
  }

  std::size_t read(std::byte* target, std::size_t bytes) override {
    if (position_ < stored_) return read_stored(target, bytes);
    const std::size_t got = from_->read(target, bytes);
    if (keep_ && got != 0) store(target, got);
    position_ += got;
    return got;
  }

  void seek(std::uint64_t position) override {
    if (position == position_) return;
    if (!keep_) fail_io(name_, "is a stream and cannot be read twice");
    position_ = std::min(position, stored_);
    skip(position - position_);
  }

  std::uint64_t measure() override {
    position_ = stored_;
    skip();
    return stored_;
  }

  void forget() override { keep_ = false; }

 private:
  std::size_t read_stored(std::byte* target, std::size_t bytes) {
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, stored_ - position_));
    if (file_.exists()) file_.read(target, bytes, position_);
    else std::memcpy(target, memory_.data() + position_, bytes);
    position_ += bytes;
    return bytes;
  }

  void store(const std::byte* data, std::size_t bytes) {
    if (!file_.exists() && stored_ + bytes <= memory_bytes) {
      memory_.insert(memory_.end(), data, data + bytes);
    } else {
      if (!file_.exists()) file_.append(memory_.data(), memory_.size());
      memory_ = {};
      file_.append(data, bytes);
    }
    stored_ += bytes;
  }

  std::unique_ptr<ByteStream> from_;
  std::string name_;
  SpoolFile file_;
  std::vector<std::byte> memory_;
  std::uint64_t stored_ = 0;    // bytes kept so far
  std::uint64_t position_ = 0;  // of the next byte to give
  bool keep_ = true;
};

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

SpoolFile::SpoolFile(std::string folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) return;
  const char* variable = std::getenv("TMPDIR");
  folder_ = variable != nullptr && *variable != '\0' ? variable : "/tmp";
}

void SpoolFile::open() {
  fd_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!exists() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {  // not on every file system
    std::string path = folder_ + "/masu-XXXXXX";
    fd_ = Descriptor(::mkostemp(path.data(), O_CLOEXEC));
    if (exists()) ::unlink(path.c_str());
  }
  if (!exists()) fail_errno(folder_, "cannot make a temporary file", errno);
}

void SpoolFile::append(const void* data, std::uint64_t bytes) {
  if (!exists()) open();
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes != 0) {
    const ssize_t put =
        ::pwrite(fd_.get(), from, std::min<std::uint64_t>(bytes, largest_read), static_cast<off_t>(size_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_errno(folder_, "writing a temporary file failed", errno);
    from += put;
    size_ += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::uint64_t>(put);
  }
}

void SpoolFile::read(void* target, std::uint64_t bytes, std::uint64_t position) const {
  auto* to = static_cast<std::byte*>(target);
  while (bytes != 0) {
    const ssize_t got =
        ::pread(fd_.get(), to, std::min<std::uint64_t>(bytes, largest_read), static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(folder_, "reading a temporary file failed", errno);
    if (got == 0) fail_io(folder_, "a temporary file was cut short");
    to += got;
    position += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
}

std::string SpoolFile::link() const {
  constexpr int most_tries = 100;
  const std::string open_file = fmt::format("/proc/self/fd/{}", fd_.get());
  for (int i = 0;; ++i) {
    std::string path = fmt::format("{}/masu-{}-{}-{}", folder_, ::getpid(), fd_.get(), i);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return path;
    if (errno != EEXIST || i == most_tries) fail_errno(folder_, "cannot name a temporary file", errno);
  }
}

void SpoolFile::expect(std::uint64_t bytes, std::uint64_t position) const noexcept {
  ::posix_fadvise(fd_.get(), static_cast<off_t>(position), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void SpoolFile::release(std::uint64_t bytes, std::uint64_t position) const noexcept {
  ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(position),
              static_cast<off_t>(bytes));
}

std::unique_ptr<ByteStream> spooled_stream(std::unique_ptr<ByteStream> from, std::string name, std::string tmpdir) {
  return std::make_unique<SpooledStream>(std::move(from), std::move(name), std::move(tmpdir));
}

std::unique_ptr<ByteStream> spooled_pipe(int descriptor, const std::string& name, std::string tmpdir) {
  return spooled_stream(std::make_unique<PipeStream>(Descriptor(descriptor), name), name, std::move(tmpdir));
}

std::unique_ptr<ByteStream> open_stream(const std::string& path, const std::string& name, const std::string& tmpdir) {
  Descriptor fd(STDIN_FILENO);
  if (path != "-") {
    int opened = -1;
    do opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    while (opened < 0 && errno == EINTR);
    if (opened < 0) fail_errno(name, "cannot be opened", errno);
    fd = Descriptor(opened);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail_errno(name, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) fail_io(name, "is a directory");
  // Files of /proc say size 0 and still have content: they are read as pipes.
  if ((S_ISREG(status.st_mode) && status.st_size > 0) || S_ISBLK(status.st_mode)) {
    const off_t here = ::lseek(fd.get(), 0, SEEK_CUR);
    const off_t end = here < 0 ? here : ::lseek(fd.get(), 0, SEEK_END);
    if (end >= 0 && ::lseek(fd.get(), here, SEEK_SET) == here) {
      const auto base = static_cast<std::uint64_t>(here);
      const auto size = static_cast<std::uint64_t>(std::max(here, end) - here);
      return std::make_unique<SeekableStream>(std::move(fd), name, base, size, S_ISREG(status.st_mode));
    }
  }
  return spooled_stream(std::make_unique<PipeStream>(std::move(fd), name), name, tmpdir);
}

}  // namespace masu::io

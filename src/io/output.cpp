// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <masu/floating_point.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "io/numbers.h"
#include "io/reader.h"

namespace masu::io {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

// Names of the unfinished files, for a signal handler: a fixed table, without locks or memory to allocate.
struct Slot {
  std::atomic<int> state{0};  // 0 free, 1 being written, 2 holds a name
  std::array<char, PATH_MAX> path{};
};
std::array<Slot, 32> slots;
std::atomic<int> making{0};  // files whose making has begun and not ended
static_assert(std::atomic<int>::is_always_lock_free);

// While a file is made, no handler may interrupt this thread, and one on another thread waits.
class Making {
 public:
  Making() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    making.fetch_add(1);
  }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  ~Making() {
    making.fetch_sub(1);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

Slot* claim(const std::string& path) {
  if (path.size() >= PATH_MAX) return nullptr;
  for (Slot& slot : slots) {
    int free = 0;
    if (!slot.state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state.store(2);
    return &slot;
  }
  return nullptr;
}

// A closed pipe is reported by write(): its signal must not end the process of a user of the library.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;
  ~PipeSignalBlocked() {
    const timespec now{};
    if (!was_pending_)
      while (::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

std::string resolved(std::string path) {
  constexpr int most_links = 40;  // as Linux has it
  std::array<char, PATH_MAX> target{};
  if (::realpath(path.c_str(), target.data()) != nullptr) return target.data();
  for (int links = 0; links < most_links; ++links) {
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) break;
    const std::string_view link(target.data(), static_cast<std::size_t>(length));
    path = (link.starts_with('/') ? "" : folder_of(path)).append(link);
  }
  return path;
}

namespace {

// Some file systems cannot; what fails there is no loss of data.
bool synced(int fd) noexcept {
  int status = 0;
  do status = ::fsync(fd);
  while (status != 0 && errno == EINTR);
  return status == 0 || (errno != EIO && errno != ENOSPC && errno != EDQUOT);
}

// Makes a rename last.
bool sync_folder(const std::string& folder) noexcept {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return true;  // a folder that may be written but not read
  const bool good = synced(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  return good;
}

struct OutputState {
  std::string name;       // for messages
  std::string target;     // the name at the end; empty: written in place (standard output, devices, pipes)
  std::string temporary;  // the name until then; empty: none
  Slot* slot = nullptr;
  int fd = -1;
  bool owned = false;  // not by its number: a file gets that of standard output where the caller closed it
  std::vector<char> buffer;

  ~OutputState() {
    if (owned && fd >= 0) ::close(fd);
    if (!temporary.empty()) ::unlink(temporary.c_str());
    release();
  }
  void release() noexcept {
    temporary.clear();
    if (slot != nullptr) slot->state.store(0);
    slot = nullptr;
  }

  void open(const std::string& path) {
    name = path == "-" ? "standard output" : path;
    buffer.reserve(buffer_bytes);
    if (path == "-") {
      fd = STDOUT_FILENO;
      return;
    }
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) fail_errno(name, "cannot be written", errno);
    if (exists && S_ISDIR(status.st_mode)) fail_io(name, "is a directory");
    if (exists && !S_ISREG(status.st_mode)) {
      fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd < 0) fail_errno(name, "cannot be written", errno);
      owned = true;
      return;
    }
    if (exists && ::access(path.c_str(), W_OK) != 0) fail_errno(name, "cannot be written", errno);
    target = resolved(path);
    if (!open_without_name()) {
      with_name([&](const char* beside) {
        fd = ::open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return fd >= 0;
      });
    }
    owned = true;
    if (exists) keep_owner_and_mode(status);
  }

  // The way to a file that has no name; it needs /proc.
  [[nodiscard]] std::string path_of_file() const { return fmt::format("/proc/self/fd/{}", fd); }

  // False where the file system cannot make a file without a name, or none can be given later.
  bool open_without_name() {
    const std::string folder = folder_of(target);
    fd = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    if (::access(path_of_file().c_str(), F_OK) == 0) return true;
    ::close(std::exchange(fd, -1));
    return false;
  }

  // Makes `temporary` by make(its name), which is false with an errno where it fails.
  template <class F>
  void with_name(const F& make) {
    const std::string folder = folder_of(target);
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0;; ++attempt) {
      std::string beside = fmt::format("{}.masu-{}-{}.part", folder, ::getpid(), counter.fetch_add(1));
      slot = claim(beside);
      if (slot == nullptr)
        fail_io(name, "cannot be written: too many files are being written, or its path is too long");
      int error = 0;
      {
        const Making now;
        if (make(beside.c_str())) temporary = std::move(beside);
        else error = errno;
      }
      if (error == 0) return;
      release();
      if (error != EEXIST || attempt == 100) fail_errno(name, "cannot be written", error);
    }
  }

  // Gives a file without a name that of the target, or where that exists, or is not to be given yet, one beside it.
  // Some file systems make such files and cannot name them: there a copy with a name takes its place.
  void link(bool at_once = true) {
    const std::string file = path_of_file();
    const auto link_to = [&](const char* path) {
      return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
    };
    if (at_once && link_to(target.c_str())) return;
    int named = -1;
    with_name([&](const char* beside) {
      if (link_to(beside)) return true;
      if (errno == EEXIST) return false;
      named = ::open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      return named >= 0;
    });
    if (named >= 0) copy_to(named);
  }
  void copy_to(int named) {
    const Descriptor unnamed(std::exchange(fd, named));
    struct stat status {};
    if (::fstat(unnamed.get(), &status) != 0) fail_errno(name, "cannot be written", errno);
    keep_owner_and_mode(status);
    std::vector<char> piece(buffer_bytes);
    for (off_t at = 0; at < status.st_size;) {
      const ssize_t read = ::pread(unnamed.get(), piece.data(), piece.size(), at);
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) fail_errno(name, "cannot be written", read < 0 ? errno : EIO);
      put(piece.data(), static_cast<std::uint64_t>(read));
      at += read;
    }
    if (!synced(fd)) fail_errno(name, "writing failed", errno);
  }

  // A file that is replaced stays whose it was, and keeps who may read it.
  void keep_owner_and_mode(const struct stat& before) const {
    struct stat now {};
    if (::fstat(fd, &now) != 0) fail_errno(name, "cannot be written", errno);
    const uid_t owner = before.st_uid == now.st_uid ? static_cast<uid_t>(-1) : before.st_uid;
    const gid_t group = before.st_gid == now.st_gid ? static_cast<gid_t>(-1) : before.st_gid;
    const bool other = owner != static_cast<uid_t>(-1) || group != static_cast<gid_t>(-1);
    if (other && ::fchown(fd, owner, group) != 0)
      fail_errno(name,
                 fmt::format("cannot be replaced by a file of the same owner ({}:{})", before.st_uid, before.st_gid),
                 errno);
    if (::fchmod(fd, before.st_mode & 07777) != 0) fail_errno(name, "cannot be written", errno);
  }

  // At a position, or where the last write ended.
  void put(const char* data, std::uint64_t bytes, std::optional<std::uint64_t> position = {}) {
    const PipeSignalBlocked blocked;
    while (bytes != 0) {
      const auto most = std::min<std::uint64_t>(bytes, std::uint64_t{1} << 30);
      const ssize_t done = position ? ::pwrite(fd, data, most, static_cast<off_t>(*position)) : ::write(fd, data, most);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0 && errno == EPIPE) fail_io(name, "nobody reads any more (EPIPE)");
      if (done < 0) fail_errno(name, "writing failed", errno);
      data += done;
      bytes -= static_cast<std::uint64_t>(done);
      if (position) *position += static_cast<std::uint64_t>(done);
    }
  }
  void flush() {
    put(buffer.data(), buffer.size());
    buffer.clear();
  }
  void to_disk() {
    flush();
    if (!target.empty() && !synced(fd)) fail_errno(name, "writing failed", errno);
  }
};

// This machine, since it was started, and this namespace of processes.
std::string machine() {
  std::array<char, 64> boot{};
  std::array<char, 64> processes{};
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::read(file.get(), boot.data(), 36) != 36) return "?";
  if (::readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) < 0) return "?";
  return fmt::format("{}{}", boot.data(), processes.data());
}

// MACHINE DEVICE INODE PATH: the machine is "-" where the path is one of the file system.
std::string place_of(const std::string& where, const struct stat& status, const std::string& path) {
  return fmt::format("{} {} {} {}", where, status.st_dev, status.st_ino, path);
}

}  // namespace

struct OutputFile::State : OutputState {};
struct OutputPart::State : OutputState {};

std::string OutputFile::place(bool named) {
  if (!state_) throw Error(ErrorCode::invalid_argument, "OutputFile: shared after commit");
  State& state = *state_;
  if (state.target.empty()) return "";
  if (named && state.temporary.empty()) state.link(false);
  struct stat status {};
  if (::fstat(state.fd, &status) != 0) fail_errno(state.name, "cannot be written", errno);
  if (state.temporary.empty()) {
    return place_of(machine(), status, fmt::format("/proc/{}/fd/{}", ::getpid(), state.fd));
  }
  std::array<char, PATH_MAX> path{};
  if (::realpath(state.temporary.c_str(), path.data()) == nullptr) fail_errno(state.name, "cannot be written", errno);
  return place_of("-", status, path.data());
}

void OutputFile::write_at(std::uint64_t position, const void* data, std::uint64_t bytes) {
  if (!state_) throw Error(ErrorCode::invalid_argument, "OutputFile: written after commit");
  state_->put(static_cast<const char*>(data), bytes, position);
}

OutputPart::OutputPart(const std::string& place) : state_(std::make_unique<State>()) {
  State& state = *state_;
  const std::size_t before = place.find(' ');
  std::size_t begin = before;
  for (int i = 0; i < 2 && begin != std::string::npos; ++i) begin = place.find(' ', begin + 1);
  if (begin == std::string::npos) throw Error(ErrorCode::invalid_argument, "OutputPart: not a place of an OutputFile");
  const std::string path = place.substr(begin + 1);
  const std::string where = place.substr(0, before);
  state.name = path;
  if (where != "-" && where != machine()) fail_io(path, "cannot be written: it is of another machine");
  state.fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (state.fd < 0) fail_errno(path, "cannot be written", errno);
  state.owned = true;
  struct stat status {};
  if (::fstat(state.fd, &status) != 0) fail_errno(path, "cannot be written", errno);
  // Another machine numbers its devices otherwise.
  const std::string inode = fmt::format(" {} ", status.st_ino);
  const bool same = where == "-" ? place.find(inode) < begin : place == place_of(where, status, path);
  if (!same) fail_io(path, "cannot be written: it is another file here");
  if (where == "-") state.slot = claim(path);
}
OutputPart::OutputPart(OutputPart&&) noexcept = default;
OutputPart::~OutputPart() = default;

void OutputPart::write_at(std::uint64_t position, const void* data, std::uint64_t bytes) {
  state_->put(static_cast<const char*>(data), bytes, position);
}

void OutputPart::finish() {
  if (!synced(state_->fd)) fail_errno(state_->name, "writing failed", errno);
}

OutputFile::OutputFile(const std::string& path) : state_(std::make_unique<State>()) {
  state_->open(path);
}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

void OutputFile::write(const void* data, std::uint64_t bytes) {
  if (!state_) throw Error(ErrorCode::invalid_argument, "OutputFile: written after commit");
  const auto* from = static_cast<const char*>(data);
  if (state_->buffer.size() + bytes > buffer_bytes) state_->flush();
  if (bytes >= buffer_bytes) state_->put(from, bytes);
  else state_->buffer.insert(state_->buffer.end(), from, from + bytes);
}

void OutputFile::finish() {
  if (!state_) throw Error(ErrorCode::invalid_argument, "OutputFile: finished after commit");
  state_->to_disk();
}

void OutputFile::commit() {
  if (!state_) throw Error(ErrorCode::invalid_argument, "OutputFile: committed twice");
  State& state = *state_;
  state.to_disk();
  if (state.owned) {
    if (!state.target.empty() && state.temporary.empty()) state.link();
    if (::close(std::exchange(state.fd, -1)) != 0 && errno != EINTR) fail_errno(state.name, "writing failed", errno);
    if (!state.target.empty()) {
      if (!state.temporary.empty() && ::rename(state.temporary.c_str(), state.target.c_str()) != 0)
        fail_errno(state.name, "cannot be written", errno);
      state.release();
      if (!sync_folder(folder_of(state.target))) fail_errno(state.name, "writing its folder failed", errno);
    }
  }
  state_.reset();
}

void remove_unfinished() noexcept {
  const int before = errno;
  while (making.load() != 0) {  // on another thread, for the time of one open()
  }
  for (Slot& slot : slots)
    if (slot.state.load() == 2) ::unlink(slot.path.data());
  errno = before;
}

void write_array(const std::string& path, const ArrayView& array, std::span<const std::uint64_t> shape) {
  const FloatingPointScope usual;
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : shape) elements *= extent;
  if (!shape.empty() && elements != array.count)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("write_array: the shape must have {} elements, got {}", array.count, elements));
  const auto ends = [&](std::string_view ending) { return path.size() > ending.size() && path.ends_with(ending); };
  OutputFile file(path);
  if (ends(".npy")) {
    file.write(npy_header(array.dtype, shape.empty() ? std::span(&array.count, 1) : shape));
  } else if (ends(".txt") || ends(".csv") || (path == "-" && ::isatty(STDOUT_FILENO) == 1)) {
    dispatch(array.dtype, [&]<class T>(TypeTag<T>) {
      const auto* values = static_cast<const T*>(array.data);
      std::array<char, number_room> line;
      for (std::uint64_t i = 0; i < array.count; ++i) {
        std::size_t length = put_number(line.data(), line.size() - 1, values[i]);
        line[length++] = '\n';
        file.write(line.data(), length);
      }
    });
    file.commit();
    return;
  }
  file.write(array.data, array.count * size_of(array.dtype));
  file.commit();
}

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// A bounded reader of bytes over a file, a pipe or memory, and the error that names them.
#pragma once

#include <fmt/format.h>
#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// A temporary file that has no name: nothing of it remains, however the process ends.
class SpoolFile {
 public:
  // "" as the folder is $TMPDIR, else /tmp. The first append() makes the file.
  explicit SpoolFile(std::string folder);

  [[nodiscard]] bool exists() const noexcept { return fd_.get() >= 0; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Gives it a name in its folder until the caller removes that. Throws io.
  [[nodiscard]] std::string link() const;
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

// A file in memory without a copy, that survives the file's becoming shorter.
struct MappedRange;

// The bytes [start, start + size) of an open regular file. A page that cannot be had any more (the file was cut, the
// disk fails) reads as zeros, instead of ending the process by SIGBUS, and is remembered: check() tells.
class FileMapping {
 public:
  // Null where the file cannot be mapped, or more files are mapped than the process has places for. The descriptor must
  // stay open as long as the mapping. From the first call on, the process has a handler for SIGBUS, which passes on
  // what does not concern a FileMapping.
  static std::unique_ptr<FileMapping> map(int descriptor, std::uint64_t start, std::uint64_t size, std::string name);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // Throws io when not all that was read from bytes() was the file's.
  void check() const;

  static constexpr std::size_t most_files = 64;

 private:
  FileMapping(int descriptor, std::string name, MappedRange& range, std::span<const std::byte> bytes,
              std::uint64_t file_bytes)
      : descriptor_(descriptor), name_(std::move(name)), range_(range), bytes_(bytes), file_bytes_(file_bytes) {}
  int descriptor_;
  std::string name_;
  MappedRange& range_;
  std::span<const std::byte> bytes_;
  std::uint64_t file_bytes_;  // the least size that the file must have
};

// Where bytes come from. Positions count from the first byte that was there at the start.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `bytes`; 0 only at the end.
  virtual std::size_t read(std::byte* target, std::size_t bytes) = 0;
  virtual void seek(std::uint64_t position) = 0;
  // Reads up to `bytes` and drops them, all that follow where there is no number. Returns how many there were.
  std::uint64_t skip(std::uint64_t bytes = ~std::uint64_t{0});
  // The number of bytes, where it is known without reading them.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  // Reads to the end to learn the size; the position is undefined afterwards.
  virtual std::uint64_t measure() { return size().value_or(0); }
  // seek() and measure() keep nothing: a file, also a compressed one.
  [[nodiscard]] virtual bool is_file() const { return size().has_value(); }
  // At its end, and not before, it compares a checksum of all bytes.
  [[nodiscard]] virtual bool has_checksum() const { return false; }
  // Says that seek() will not be called again, so nothing needs to be kept for it.
  virtual void forget() {}
  // A regular file with these bytes, from its first one on, open as long as this stream; else -1.
  [[nodiscard]] virtual int file() const { return -1; }
  // All bytes in memory without a copy, valid as long as this stream; null where that cannot be.
  virtual std::unique_ptr<FileMapping> map() { return nullptr; }
};

// The file that symbolic links lead to, also where it does not exist yet.
std::string resolved(std::string path);

// "-" is standard input. `name` is used in messages.
std::unique_ptr<ByteStream> open_stream(const std::string& path, const std::string& name, const std::string& tmpdir);
// Does not own the bytes. Without `known_size` it behaves as a pipe whose size is only known at the end.
std::unique_ptr<ByteStream> memory_stream(std::span<const std::byte> bytes, bool known_size = true);
// Keeps what `from`, at its first byte, gives, in memory at first and then in an unlinked temporary file.
std::unique_ptr<ByteStream> spooled_stream(std::unique_ptr<ByteStream> from, std::string name, std::string tmpdir);
// The same of a pipe. Owns the descriptor.
std::unique_ptr<ByteStream> spooled_pipe(int descriptor, const std::string& name, std::string tmpdir);

// Throws io: "NAME: REASON".
[[noreturn]] void fail_io(std::string_view name, std::string_view reason);
template <class... Values>
requires(sizeof...(Values) > 0)
    [[noreturn]] void fail_io(std::string_view name, fmt::format_string<Values...> reason, Values&&... values) {
  fail_io(name, fmt::format(reason, std::forward<Values>(values)...));
}
// The same with the text of an errno value.
[[noreturn]] void fail_errno(std::string_view name, std::string_view action, int error);

class Reader {
 public:
  Reader(std::string name, std::unique_ptr<ByteStream> stream);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t position() const noexcept { return buffer_start_ + begin_; }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return stream_->size(); }
  // As size(), but a pipe is read to its end (and spooled) to know.
  std::uint64_t measured_size();

  // The next bytes without consuming them: at least `bytes` (at most `peek_limit`), fewer only at the end.
  std::span<const std::byte> peek(std::size_t bytes);
  void consume(std::size_t bytes) noexcept { begin_ += bytes; }
  // Makes room for `bytes` from position() on. Returns those that are in memory; `excess` bytes after them may be
  // looked at.
  std::string_view hold(std::size_t bytes);
  // The same bytes where they were, and up to `bytes` more in that room; none at the end. Where reading fails, peek()
  // throws what it threw, once these bytes are consumed.
  std::string_view hold_more(std::size_t bytes);
  // Fewer than `bytes` only at the end.
  std::size_t read(void* target, std::size_t bytes);
  // Throws "truncated" with the byte at which the file ends; `what` says what was being read.
  void read_exact(void* target, std::size_t bytes, std::string_view what);
  void seek(std::uint64_t position);
  void forget() { stream_->forget(); }
  std::unique_ptr<FileMapping> map() { return stream_->map(); }
  [[nodiscard]] bool is_file() const { return stream_->is_file(); }
  [[nodiscard]] int file() const { return stream_->file(); }
  // Reads to the end where that compares a checksum.
  void compare_checksum();
  // The stream, at its first byte. The reader is not used afterwards.
  std::unique_ptr<ByteStream> take() {
    stream_->seek(0);
    return std::move(stream_);
  }

  // Throws unless `bytes` more can follow `start` in a file of known size. A pipe is measured only when it makes masu
  // reserve more than a few MiB (`memory`).
  void require(std::uint64_t start, std::uint64_t bytes, std::uint64_t memory, std::string_view what);

  [[noreturn]] void fail(std::string_view reason) const { fail_io(name_, std::string(reason) + advice_); }
  template <class... Values>
  requires(sizeof...(Values) > 0)
      [[noreturn]] void fail(fmt::format_string<Values...> reason, Values&&... values) const {
    fail(fmt::format(reason, std::forward<Values>(values)...));
  }
  // What the lines of a text were made of, for messages; "" where they are the file's.
  void set_form(std::string form) { form_ = std::move(form); }
  [[nodiscard]] const std::string& form() const noexcept { return form_; }
  // What every later message of fail() ends with.
  void advise(std::string advice) { advice_ = std::move(advice); }

  static constexpr std::size_t peek_limit = std::size_t{1} << 16;
  static constexpr std::size_t excess = 64;

 private:
  std::string name_;
  std::string advice_;
  std::string form_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<std::byte[]> buffer_;  // not cleared
  std::size_t room_;                     // of the buffer
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t buffer_start_ = 0;  // the position of buffer_[0]
  bool ended_ = false;              // the input ends with the buffer
  std::exception_ptr failure_;      // of hold_more()
};

// a * b, or nothing when it needs more than 63 bits.
std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept;

// `text` as it may stand in a message: at most 40 characters, what is not printable replaced.
std::string printable(std::string_view text);
// "a, b" of names as they may stand there, with ", ..." after the first `most`.
std::string listed(std::span<const std::string> names, std::size_t most);

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
#include "io/reader.h"

#include "io/sources.h"
#include "runtime/text.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>
#include <system_error>

namespace masu::io {
namespace {

constexpr std::size_t reader_buffer_bytes = std::size_t{1} << 18;
constexpr std::uint64_t unmeasured_memory = std::uint64_t{1} << 24;

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::span<const std::byte> bytes, bool known_size) : bytes_(bytes), known_size_(known_size) {}
  std::size_t read(std::byte* target, std::size_t bytes) override {
    bytes = std::min(bytes, bytes_.size() - position_);
    if (bytes != 0) std::memcpy(target, bytes_.data() + position_, bytes);
    position_ += bytes;
    return bytes;
  }
  void seek(std::uint64_t position) override {
    position_ = static_cast<std::size_t>(std::min<std::uint64_t>(position, bytes_.size()));
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override {
    if (!known_size_) return std::nullopt;
    return bytes_.size();
  }
  std::uint64_t measure() override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool known_size_;
  std::size_t position_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> memory_stream(std::span<const std::byte> bytes, bool known_size) {
  return std::make_unique<MemoryStream>(bytes, known_size);
}

void fail_io(std::string_view name, std::string_view reason) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", name, reason));
}

void fail_errno(std::string_view name, std::string_view action, int error) {
  fail_io(name, "{}: {}", action, std::generic_category().message(error));
}

std::uint64_t ByteStream::skip(std::uint64_t bytes) {
  std::vector<std::byte> dropped(std::min(bytes, std::uint64_t{1} << 16U));
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::size_t got = read(dropped.data(), std::min<std::uint64_t>(dropped.size(), bytes - done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

Reader::Reader(std::string name, std::unique_ptr<ByteStream> stream)
    : name_(std::move(name)),
      stream_(std::move(stream)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(reader_buffer_bytes + excess)),
      room_(reader_buffer_bytes) {}

std::uint64_t Reader::measured_size() {
  if (const auto known = stream_->size()) return *known;
  const std::uint64_t here = position();
  const std::uint64_t total = stream_->measure();
  begin_ = end_ = 0;
  buffer_start_ = total;
  seek(here);
  return total;
}

std::span<const std::byte> Reader::peek(std::size_t bytes) {
  bytes = std::min(bytes, peek_limit);
  if (end_ - begin_ < bytes && !ended_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    buffer_start_ += begin_;
    end_ -= begin_;
    begin_ = 0;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    while (end_ < bytes) {
      const std::size_t got = stream_->read(buffer_.get() + end_, reader_buffer_bytes - end_);
      ended_ = got == 0;
      if (ended_) break;
      end_ += got;
    }
  }
  return {buffer_.get() + begin_, end_ - begin_};
}

std::string_view Reader::hold(std::size_t bytes) {
  if (room_ - begin_ < bytes) {
    const std::size_t held = end_ - begin_;
    std::unique_ptr<std::byte[]> old;
    if (room_ < bytes) {
      old = std::exchange(buffer_, std::make_unique_for_overwrite<std::byte[]>(bytes + excess));
      room_ = bytes;
    }
    std::memmove(buffer_.get(), (old ? old : buffer_).get() + begin_, held);
    buffer_start_ += std::exchange(begin_, 0);
    end_ = held;
  }
  return hold_more(0);
}

std::string_view Reader::hold_more(std::size_t bytes) {
  bytes = std::min(bytes, room_ - end_);
  if (bytes != 0 && !ended_ && !failure_) {
    try {
      const std::size_t got = stream_->read(buffer_.get() + end_, bytes);
      ended_ = got == 0;
      end_ += got;
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  return {reinterpret_cast<const char*>(buffer_.get()) + begin_, end_ - begin_};
}

std::size_t Reader::read(void* target, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(target);
  std::size_t done = 0;
  while (done < bytes) {
    if (begin_ == end_ && bytes - done >= reader_buffer_bytes) {
      const std::size_t got = stream_->read(out + done, bytes - done);
      if (got == 0) break;
      buffer_start_ += begin_ + got;
      begin_ = end_ = 0;
      done += got;
      continue;
    }
    const std::size_t got = std::min(bytes - done, peek(1).size());
    if (got == 0) break;
    std::memcpy(out + done, buffer_.get() + begin_, got);
    begin_ += got;
    done += got;
  }
  return done;
}

void Reader::compare_checksum() {
  if (!stream_->has_checksum()) return;
  while (!peek(1).empty()) consume(end_ - begin_);
}

void Reader::read_exact(void* target, std::size_t bytes, std::string_view what) {
  if (read(target, bytes) != bytes) fail("truncated: the file ends at byte {} inside {}", position(), what);
}

void Reader::seek(std::uint64_t position) {
  if (position >= buffer_start_ && position <= buffer_start_ + end_) {
    begin_ = static_cast<std::size_t>(position - buffer_start_);
    return;
  }
  stream_->seek(position);
  buffer_start_ = position;
  begin_ = end_ = 0;
  ended_ = false;
  failure_ = nullptr;
}

void Reader::require(std::uint64_t start, std::uint64_t bytes, std::uint64_t memory, std::string_view what) {
  if (!size() && memory <= unmeasured_memory) return;
  const std::uint64_t total = measured_size();
  if (start <= total && bytes <= total - start) return;
  fail("truncated: {} needs {} bytes from byte {}, but the file ends at byte {}", what, bytes, start, total);
}

std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product >> 63 != 0) return std::nullopt;
  return product;
}

std::string printable(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out;
  std::size_t i = 0;
  while (i < std::min(most, text.size())) {
    // Whole characters of UTF-8 stand as they are, without the control characters below U+00A0.
    const std::size_t length = runtime::utf8_length(text, i);
    const bool good = length == 1   ? text[i] >= ' ' && text[i] <= '~'
                      : length == 2 ? text[i] != '\xc2' || text[i + 1] >= '\xa0'
                                    : length != 0;
    if (good) out += text.substr(i, length);
    else out += '?';
    i += good ? length : 1;
  }
  if (i < text.size()) out += "...";
  return out;
}

std::string listed(std::span<const std::string> names, std::size_t most) {
  std::string list;
  for (const std::string& name : names.first(std::min(names.size(), most)))
    list += (&name == names.data() ? "" : ", ") + printable(name);
  return names.size() > most ? list + ", ..." : list;
}

// Read by the signal handler, so without locks. `first` is 0 while the place is free, and is set last.
struct MappedRange {
  std::atomic<std::uintptr_t> first{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<bool> lost{false};  // a page of it was replaced
  bool taken = false;             // guarded by the mutex of places()
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// Constant-initialised, and never destroyed: the handler may run at any time.
constinit std::array<MappedRange, FileMapping::most_files> ranges;
constinit std::mutex places;
constinit std::atomic<std::uintptr_t> page_bytes{4096};
struct sigaction previous;  // set before the handler is installed

// Puts zeros where the page at `address` and those after it cannot be read; false when it belongs to no mapping.
bool replace_page(std::uintptr_t address) noexcept {
  for (MappedRange& range : ranges) {
    const std::uintptr_t first = range.first.load(std::memory_order_acquire);
    const std::size_t bytes = range.bytes.load(std::memory_order_acquire);
    // Read again: the place may have been given to another mapping between the two.
    if (first == 0 || address < first || address - first >= bytes || range.first.load() != first) continue;
    range.lost.store(true, std::memory_order_relaxed);
    const std::uintptr_t page = address / page_bytes * page_bytes;
    return ::mmap(reinterpret_cast<void*>(page), first + bytes - page, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
  }
  return false;
}

// As if masu had no handler.
void pass_on(int number, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(number, info, context);
  const bool sent = info->si_code <= 0;  // by another process: it does not come again by itself
  if (previous.sa_handler == SIG_IGN && sent) return;
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(number, &standard, nullptr);
  if (sent) ::raise(number);  // else the instruction is tried again, and fails again
}

void handle(int number, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  const bool fault = info->si_code > 0;
  if (!fault || !replace_page(reinterpret_cast<std::uintptr_t>(info->si_addr))) pass_on(number, info, context);
  errno = error;
}

bool install() noexcept {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction own {};
  own.sa_sigaction = handle;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigemptyset(&own.sa_mask);
  return ::sigaction(SIGBUS, nullptr, &previous) == 0 && ::sigaction(SIGBUS, &own, nullptr) == 0;
}

MappedRange* take_place() {
  const std::lock_guard lock(places);
  static const bool installed = install();
  for (MappedRange& range : ranges) {
    if (!installed || range.taken) continue;
    range.taken = true;
    return &range;
  }
  return nullptr;
}

void give_place(MappedRange& range) noexcept {
  const std::lock_guard lock(places);
  range.taken = false;
}

std::uint64_t size_of_file(int descriptor) noexcept {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

std::unique_ptr<FileMapping> FileMapping::map(int descriptor, std::uint64_t start, std::uint64_t size,
                                              std::string name) {
  const std::uint64_t end = start + size;
  if (size == 0 || end < size || end > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
  MappedRange* range = take_place();
  if (range == nullptr) return nullptr;
  void* address = ::mmap(nullptr, end, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) {
    give_place(*range);
    return nullptr;
  }
  // What is not in memory is then read in blocks of 2 MiB, ahead of the faults, and mapped with few of them. Asking for
  // it by MADV_WILLNEED fills the page cache with single pages, which are three times slower here, now and later (Linux
  // 6.18, 2026-11).
  ::madvise(address, end, MADV_SEQUENTIAL);
  ::madvise(address, end, MADV_HUGEPAGE);
  range->lost.store(false, std::memory_order_relaxed);
  range->bytes.store(end, std::memory_order_release);
  range->first.store(reinterpret_cast<std::uintptr_t>(address), std::memory_order_release);
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(address) + start, size);
  return std::unique_ptr<FileMapping>(new FileMapping(descriptor, std::move(name), *range, bytes, end));
}

FileMapping::~FileMapping() {
  void* address = reinterpret_cast<void*>(range_.first.load(std::memory_order_relaxed));
  range_.first.store(0, std::memory_order_release);
  ::munmap(address, range_.bytes.load(std::memory_order_relaxed));
  give_place(range_);
}

void FileMapping::check() const {
  // A file that ends inside a page reads as zeros to the end of that page, without a signal.
  const std::uint64_t now = size_of_file(descriptor_);
  if (now < file_bytes_) {
    fail_io(name_, "the file shrank while it was read, to {} of {} bytes", now, file_bytes_);
  }
  if (range_.lost.load(std::memory_order_relaxed))
    fail_io(name_, "reading failed: the file changed, or its disk fails");
}

std::size_t DecodedStream::read(std::byte* target, std::size_t bytes) {
  std::size_t done = 0;
  const auto look_ahead = [&] {
    std::byte next{};
    ahead_ = decode(&next, 1) == 0 ? std::nullopt : std::optional(next);
    looked_ahead_ = true;
  };
  if (bytes == 0) return 0;
  if (!looked_ahead_) look_ahead();
  if (!ahead_) return 0;
  target[done++] = *ahead_;
  while (done < bytes) {
    const std::size_t got = decode(target + done, bytes - done);
    if (got == 0) break;
    done += got;
  }
  look_ahead();
  position_ += done;
  return done;
}

void DecodedStream::seek(std::uint64_t position) {
  if (position < position_) {
    begin_again();
    looked_ahead_ = false;
    position_ = 0;
  }
  skip(position - position_);
}

std::uint64_t DecodedStream::measure() {
  skip();
  return position_;
}

}  // namespace masu::io

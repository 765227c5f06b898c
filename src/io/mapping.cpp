// SPDX-License-Identifier: Apache-2.0
#include "io/reader.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <limits>
#include <mutex>
#include <utility>

namespace masu::io {

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

// Puts zeros where the page at `address` and those behind it cannot be read; false when it is not of a mapping.
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
    fail_io(name_, fmt::format("the file shrank while it was read, to {} of {} bytes", now, file_bytes_));
  }
  if (range_.lost.load(std::memory_order_relaxed))
    fail_io(name_, "reading failed: the file changed, or its disk fails");
}

}  // namespace masu::io

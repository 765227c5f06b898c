// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/scratch.h"

#include <masu/error.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>

namespace masu::cpu {

namespace {

constexpr std::uint64_t mapped_from = std::uint64_t{4} << 20;
constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;

}  // namespace

Scratch::Scratch(std::uint64_t bytes) {
  if (bytes < mapped_from) {
    data_ = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64));
  } else {
    // Large enough for a multiple of huge pages to lie in it.
    mapped_ = (bytes + huge_page - 1) / huge_page * huge_page + huge_page;
    void* const start = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start != MAP_FAILED) {
      const std::uint64_t skip = huge_page - reinterpret_cast<std::uintptr_t>(start) % huge_page;
      if (skip != huge_page) {
        munmap(start, skip);
        mapped_ -= skip;
      }
      data_ = static_cast<std::byte*>(start) + skip % huge_page;
      madvise(data_, mapped_, MADV_HUGEPAGE);  // where this fails, pages are small
    }
  }
  if (data_ == nullptr) {
    throw Error(ErrorCode::out_of_memory, fmt::format("sort: no temporary memory of {} bytes", bytes));
  }
}

Scratch::~Scratch() {
  if (mapped_ != 0) munmap(data_, mapped_);
  else std::free(data_);
}

}  // namespace masu::cpu

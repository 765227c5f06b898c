// SPDX-License-Identifier: Apache-2.0
// Temporary memory of the CPU's sorts and selections.
#pragma once

#include <cstddef>
#include <cstdint>

namespace masu::cpu {

// Bytes that nothing has been written to. Large ones are asked for in huge pages, where the system has them: touching
// fresh memory page by page can take as long as sorting it.
class Scratch {
 public:
  // Throws Error out_of_memory.
  explicit Scratch(std::uint64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  [[nodiscard]] T* as(std::uint64_t byte_offset = 0) const noexcept {
    return reinterpret_cast<T*>(data_ + byte_offset);
  }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t mapped_ = 0;  // bytes of the mapping; 0: from the heap
};

}  // namespace masu::cpu

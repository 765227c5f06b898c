// SPDX-License-Identifier: Apache-2.0
// Runs and distinct values on the CPU.
#pragma once

#include <masu/unique.h>

#include <cstdint>
#include <vector>

namespace masu {

// An order of elements: u32 or u64, or none.
struct CpuOrder {
  Dtype dtype = Dtype::u64;
  const void* places = nullptr;
};

// The runs of host memory: marks their starts, then tells how many there are, then writes them.
class CpuRunFinder {
 public:
  explicit CpuRunFinder(const ArrayView& data);
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }
  // Each for runs() runs; null: not wanted. With an order, `starts` are the places in it of the runs' first elements.
  void write(void* values, std::uint64_t* lengths, std::uint64_t* starts, const CpuOrder& order = {}) const;
  // inverse[order[e]] = the run of element e.
  void write_inverse(const CpuOrder& order, std::uint64_t* inverse) const;

 private:
  // A task's elements; how many runs start before them, and where the last of those does.
  struct Task {
    std::uint64_t runs_before = 0;
    std::uint64_t last_before = 0;
  };
  template <class Bits>
  void write_as(void* values, std::uint64_t* lengths, std::uint64_t* starts, const CpuOrder& order) const;

  ArrayView data_;
  std::vector<std::uint64_t> mask_;
  std::vector<Task> tasks_;  // one more than there are
  std::uint64_t runs_ = 0;
};

void unique_cpu(const ArrayView& data, const UniqueOptions& options, const detail::UniqueMemory& results);

}  // namespace masu

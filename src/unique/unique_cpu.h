// SPDX-License-Identifier: Apache-2.0
// Runs and distinct values on the CPU.
#pragma once

#include <masu/dtype.h>
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

// Marks where runs start, with the widest vectors of this processor.

// Bit i of the mask, for i in [0, count): element i is not equal to element i - 1. Element 0 is compared with the one
// in front of `elements` where `has_before`; else its bit is set. Bits after `count` in the last of the words are 0.
// Words are written byte by byte, the first bit lowest.
void mark_starts(Dtype dtype, const void* elements, std::uint64_t count, bool has_before, std::uint8_t* mask);

// Distinct values of 8- and 16-bit data, from how often each pattern of bits occurs.

// How such data is counted: as unsigned integers of its size.
struct PatternType {
  Dtype dtype;
  std::uint64_t patterns;
};
PatternType pattern_type(Dtype dtype) noexcept;

// The values among the patterns, ascending.
struct CountedValues {
  std::vector<std::uint16_t> values;  // the pattern of each; of several, one
  std::vector<std::uint64_t> counts;
  std::vector<std::uint16_t> places;   // of each pattern that occurs, its place among the values
  std::vector<std::uint16_t> several;  // places of values that occur with several patterns: zeros, NaNs
};
// Memory for so many numbers of a result.
inline std::uint64_t* numbers_of(const detail::ResultMemory& memory, std::uint64_t count) {
  return static_cast<std::uint64_t*>(memory(count));
}

// `counts` of all patterns.
CountedValues counted_values(Dtype dtype, const std::vector<std::uint64_t>& counts);

// As unique_cpu.
void unique_by_counting(const ArrayView& data, const UniqueOptions& options, const detail::UniqueMemory& results);

}  // namespace masu

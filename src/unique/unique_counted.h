// SPDX-License-Identifier: Apache-2.0
// Distinct values of 8- and 16-bit data, from how often each pattern of bits occurs.
#pragma once

#include <masu/unique.h>

#include <cstdint>
#include <vector>

namespace masu {

// Whether counting all patterns costs less than sorting `count` elements.
bool is_counted(Dtype dtype, std::uint64_t count) noexcept;
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

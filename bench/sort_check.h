// SPDX-License-Identifier: Apache-2.0
// Whether something is sorted as include/masu/sort.h says, told without sorting it: shares no code with the library.
#pragma once

#include <masu/dtype.h>

#include <cstdint>
#include <span>

namespace masu::bench {

// What sorting does not change, of keys and of their rows or segments (`offsets`; none: all are one). Two arrays with
// the same facts hold the same elements in each segment, the zeros and the NaNs in the same order.
struct KeyFacts {
  std::uint64_t elements = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nans = 0;
  friend bool operator==(const KeyFacts&, const KeyFacts&) = default;
};
KeyFacts key_facts(const ArrayView& keys, std::span<const std::uint64_t> offsets);

// Whether each row or segment rises.
bool rises(const ArrayView& keys, std::span<const std::uint64_t> offsets);
// Whether `indices` is the stable order of the keys.
bool is_stable_order(const ArrayView& keys, std::span<const std::uint32_t> indices);
// Whether `sorted` are the keys in that order.
bool is_gathered(const ArrayView& sorted, const ArrayView& keys, std::span<const std::uint32_t> indices);

}  // namespace masu::bench

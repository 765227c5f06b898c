// SPDX-License-Identifier: Apache-2.0
// Passes over elements in host memory that count and collect their ordered keys (elements/order.h). Exported for the
// Python package of the same version; no public API.
#pragma once

#include <masu/dtype.h>
#include <masu/version.h>

#include <cstdint>
#include <span>
#include <vector>

namespace masu {

// The digit of a key is its `width` bits from bit `shift` on; a prefix is what is above them. Prefixes ascend.
struct DigitPass {
  unsigned shift;
  unsigned width;
  std::span<const std::uint64_t> prefixes;
  // Other keys are not counted.
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
};
// Adds to a table of 2^width counts for each prefix, on all threads.
MASU_EXPORT void count_digits(const ArrayView& data, const DigitPass& pass, std::span<std::uint64_t> tables);
// A key that is partly found, at a place of the sorted order: its upper bits, and its place among the keys that share
// them.
struct KnownKey {
  std::uint64_t prefix = 0;
  std::uint64_t rest = 0;
  friend bool operator==(const KnownKey&, const KnownKey&) = default;
};
// Adds to a key's front the digit that the tables of a pass give for it. Returns how many keys have that front.
std::uint64_t find_digit(const DigitPass& pass, std::span<const std::uint64_t> tables, KnownKey& key);
// Appends the keys whose bits from `shift` on are one of the prefixes, in the order of the data.
MASU_EXPORT void collect_keys(const ArrayView& data, unsigned shift, std::span<const std::uint64_t> prefixes,
                              std::vector<std::uint64_t>& keys);

// Keys from `low` to `high`, and what a pass finds of them.
struct KeyInterval {
  std::uint64_t low;
  std::uint64_t high;
  std::uint64_t below = 0;    // keys below `low`
  std::uint64_t at_low = 0;   // keys that are `low`
  std::uint64_t at_high = 0;  // keys that are `high`, where it is another key
  std::vector<std::uint64_t> between = {};
};
// Adds what the data has to the counts and lists of each interval.
MASU_EXPORT void bracket_keys(const ArrayView& data, std::span<KeyInterval> intervals);

// The keys of elements, and the elements of keys: +0 for a zero, the quiet NaN for a NaN.
MASU_EXPORT void keys_of_elements(const ArrayView& data, std::uint64_t* keys);
MASU_EXPORT void elements_of_keys(const std::uint64_t* keys, MutableArrayView elements);

}  // namespace masu

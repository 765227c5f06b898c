// SPDX-License-Identifier: Apache-2.0
/// @file
/// The schedule of the bitonic sorting network as data: which elements are compared, in which order, for any length.
///
/// **Rule.** Let k be the least number with 2^k >= n. Stage s (from 0) makes sorted blocks of 2^(s+1) elements of
/// sorted blocks of half that size, by s + 1 passes; the distance of pass p is 2^(s-p), so it halves from pass to pass.
/// The last stage, k - 1, is the final merge. That is k (k + 1) / 2 passes, k of them the merge's: 15 + 6 for 64
/// elements, 6 + 4 for 16, none for 0 and 1.
///
/// A pass cuts the elements into blocks of twice its distance d and compares pairs of a block. The first pass of a
/// stage is mirrored: it compares d - 1 - i with d + i, for i < d, counted from the start of the block. The other
/// passes compare i with d + i. The lesser of two always goes to the lower place. So no pair ever moves an element
/// beyond the end of the others, and pairs with a place at or after n are left out: the network sorts any n, not only
/// powers of two. The pairs of one pass share no element; passes come one after the other.
///
/// A network is not stable in itself. Pairs of key and index, of which no two are equal, keep their order.
/// **Complexity.** About n/4 log^2 n comparisons, whatever the values are.
/// **Source.** K. E. Batcher, Sorting networks and their applications, AFIPS 1968; D. E. Knuth, The Art of Computer
/// Programming, volume 3, section 5.3.4. Mirroring the first pass gives all comparators one direction.
///
/// Example:
/// @code
/// for (const example::BitonicPass& pass : example::bitonic_schedule(keys.size())) {
///   for (std::uint64_t i = 0; i < example::bitonic_pairs(pass, keys.size()); ++i) {
///     const example::BitonicPair pair = example::bitonic_pair(pass, i);
///     if (keys[pair.upper] < keys[pair.lower]) std::swap(keys[pair.lower], keys[pair.upper]);
///   }
/// }
/// @endcode
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace example {

/// One pass of the network.
struct BitonicPass {
  std::uint32_t stage = 0;     ///< from 0; the final merge has the last number
  std::uint32_t pass = 0;      ///< from 0 within the stage
  std::uint64_t distance = 1;  ///< 2^(stage - pass)
  bool merge = false;          ///< belongs to the final merge
  /// The first pass of a stage: pairs are mirrored around the middle of their block.
  [[nodiscard]] constexpr bool mirrored() const noexcept { return pass == 0; }
  friend constexpr bool operator==(const BitonicPass&, const BitonicPass&) = default;
};

/// The passes for `count` elements, in order.
inline std::vector<BitonicPass> bitonic_schedule(std::uint64_t count) {
  const auto stages = static_cast<std::uint32_t>(count < 2 ? 0 : std::bit_width(count - 1));
  std::vector<BitonicPass> schedule;
  schedule.reserve(std::size_t{stages} * (stages + 1) / 2);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (std::uint32_t pass = 0; pass <= stage; ++pass) {
      schedule.push_back({stage, pass, std::uint64_t{1} << (stage - pass), stage + 1 == stages});
    }
  }
  return schedule;
}

/// Two places whose elements are compared; the lesser goes to `lower`.
struct BitonicPair {
  std::uint64_t lower = 0;
  std::uint64_t upper = 1;
  friend constexpr bool operator==(BitonicPair, BitonicPair) = default;
};

/// How many pairs of `count` elements the pass compares.
[[nodiscard]] constexpr std::uint64_t bitonic_pairs(const BitonicPass& pass, std::uint64_t count) noexcept {
  const std::uint64_t d = pass.distance;
  const std::uint64_t whole_blocks = count / d / 2;
  const std::uint64_t rest = count - whole_blocks * 2 * d;
  return whole_blocks * d + (rest > d ? rest - d : 0);
}

/// Pair number i of the pass, i < bitonic_pairs(pass, count), whatever the count is.
[[nodiscard]] constexpr BitonicPair bitonic_pair(const BitonicPass& pass, std::uint64_t i) noexcept {
  const std::uint64_t d = pass.distance;
  const std::uint64_t within = i & (d - 1);
  const std::uint64_t middle = 2 * (i - within) + d;
  return {pass.mirrored() ? middle - 1 - within : middle - d + within, middle + within};
}

}  // namespace example

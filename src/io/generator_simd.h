// SPDX-License-Identifier: Apache-2.0
// Many of a generator's words at once; docs/generators.md defines them.
#pragma once

#include <cstdint>

namespace masu::io {

// Both write up to this many elements more than asked for.
inline constexpr std::uint64_t words_excess = 8;

// word(first) … word(first + count - 1) of the generator with that base.
void random_words(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out);

// The fractions of elements `first` … of the distribution `normal`.
void bell_fractions(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out);

}  // namespace masu::io

// SPDX-License-Identifier: Apache-2.0
// Data made from a text: element i depends on the text and i alone. docs/generators.md defines every bit.
#pragma once

#include <masu/dtype.h>
#include <cstdint>
#include <string>

namespace masu::io {

enum class Shape { uniform, constant, normal, zipf, sorted, reversed, runs, few, iota, zeros };

// The text, parsed. Integers lie in [lo, lo + span - 1] (span 0 is 2^64), as two's complement; floats in [from, to).
struct GeneratorSpec {
  std::string kind;  // "random", "iota", "zeros"
  Dtype dtype = Dtype::u8;
  std::uint64_t count = 0;
  Shape shape = Shape::uniform;
  std::uint64_t seed = 0;
  std::uint64_t lo = 0;
  std::uint64_t span = 0;
  double from = 0;
  double to = 1;
};

// Throws invalid_argument.
GeneratorSpec parse_generator(const std::string& text);

__extension__ using Wide = unsigned __int128;

// floor(a * b / 2^64); a `b` of 0 stands for 2^64.
constexpr std::uint64_t scale(std::uint64_t a, std::uint64_t b) noexcept {
  return b == 0 ? a : static_cast<std::uint64_t>(Wide{a} * b >> 64);
}

inline constexpr std::uint64_t mix_first = 0xbf58476d1ce4e5b9U;
inline constexpr std::uint64_t mix_second = 0x94d049bb133111ebU;
inline constexpr std::uint64_t word_step = 0x9e3779b97f4a7c15U;
inline constexpr std::uint64_t bell_unit = ~std::uint64_t{0} / (12 * 65535 + 1);  // the step of `normal`'s fractions

// SplitMix64's finaliser.
constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * mix_first;
  z = (z ^ (z >> 27)) * mix_second;
  return z ^ (z >> 31);
}

// Words of 64 random bits by seed and index.
class Words {
 public:
  explicit constexpr Words(std::uint64_t seed) noexcept : base_(mix64(seed + word_step)) {}
  constexpr std::uint64_t operator[](std::uint64_t index) const noexcept {
    return mix64(base_ + (index + 1) * word_step);
  }
  [[nodiscard]] constexpr std::uint64_t base() const noexcept { return base_; }

 private:
  std::uint64_t base_;
};

// Many of a generator's words at once; docs/generators.md defines them.

// Both write up to this many elements more than asked for.
inline constexpr std::uint64_t words_excess = 8;

// word(first) … word(first + count - 1) of the generator with that base.
void random_words(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out);

// The fractions of elements `first` … of the distribution `normal`.
void bell_fractions(std::uint64_t base, std::uint64_t first, std::uint64_t count, std::uint64_t* out);

}  // namespace masu::io

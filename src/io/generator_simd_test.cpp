// SPDX-License-Identifier: Apache-2.0
// Words and fractions made many at once, and pieces made by several threads, against docs/generators.md read plainly.
#include "io/sources.h"

#include "io/test_files.h"

namespace masu::io::test {
namespace {

// normal, as the document has it.
std::uint64_t plain_bell(const Words& words, std::uint64_t i) {
  const std::uint64_t w[] = {words[3 * i], words[3 * i + 1], words[3 * i + 2]};
  std::uint64_t sum = 0;
  for (const std::uint64_t word : w)
    for (int shift = 0; shift < 64; shift += 16) sum += word >> shift & 0xffffU;
  const std::uint64_t k = ~std::uint64_t{0} / 786421;
  return sum * k + static_cast<std::uint64_t>(Wide{w[0] * 0x9e3779b97f4a7c15U} * k >> 64);
}

// The first rank whose cumulative weight is above the word's, found by adding.
std::uint64_t plain_zipf(std::uint64_t word, std::uint64_t ranks) {
  constexpr std::uint64_t one = std::uint64_t{1} << 40;
  std::uint64_t total = 0;
  for (std::uint64_t r = 1; r <= ranks; ++r) total += one / r;
  const auto drawn = static_cast<std::uint64_t>(Wide{word} * total >> 64);
  std::uint64_t sum = 0;
  for (std::uint64_t r = 1;; ++r) {
    sum += one / r;
    if (sum > drawn) return r - 1;
  }
}

TEST(GeneratorSimd, WordsAndFractionsAreThoseOfTheDocument) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{12345}, ~std::uint64_t{0}}) {
    const Words words(seed);
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000003},
                                      (std::uint64_t{1} << 48) - 20, ~std::uint64_t{0} / 3 - 50}) {
      for (const std::uint64_t count : {0U, 1U, 2U, 7U, 8U, 9U, 31U, 1024U}) {
        constexpr std::uint64_t untouched = 0x1234;
        std::vector<std::uint64_t> out(count + words_excess + 1, untouched);
        random_words(words.base(), first, count, out.data());
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], words[first + i]) << first << " " << i;
        EXPECT_EQ(out.back(), untouched);
        bell_fractions(words.base(), first, count, out.data());
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], plain_bell(words, first + i)) << first << " " << i;
        EXPECT_EQ(out.back(), untouched);
      }
    }
  }
}

TEST(GeneratorSimd, RanksAreThoseOfTheDocument) {
  const Words words(0);
  for (const std::uint64_t ranks : {1U, 2U, 3U, 100U, 256U, 65536U}) {
    const auto source = open("random:u32:300:dist=zipf:lo=0:hi=" + std::to_string(ranks - 1));
    const auto found = values<std::uint32_t>(*source);
    for (std::uint64_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], plain_zipf(words[i], ranks)) << ranks << " " << i;
  }
}

// Longer than what one thread makes at a time.
TEST(GeneratorSimd, LongPiecesAreTheShortOnes) {
  for (const std::string dist : {"uniform", "normal", "zipf", "sorted", "reversed", "runs", "few"}) {
    for (const std::string dtype : {"u8", "f32"}) {
      const std::string text = std::string("random:").append(dtype).append(":600011:dist=").append(dist);
      const auto whole = read_all(*open(text));
      const auto source = open(text);
      std::vector<std::byte> pieces;
      std::vector<std::byte> piece(1009 * size_of(source->info().dtype));
      while (const std::uint64_t got = source->read(piece.data(), 1009))
        pieces.insert(pieces.end(), piece.begin(),
                      piece.begin() + static_cast<std::ptrdiff_t>(got * size_of(source->info().dtype)));
      EXPECT_EQ(whole, pieces) << text;
    }
  }
}

}  // namespace
}  // namespace masu::io::test

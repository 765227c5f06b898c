// SPDX-License-Identifier: Apache-2.0
#include "io/dictionary.h"

#include <gtest/gtest.h>
#include <masu/error.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace masu::io::test {
namespace {

std::string upper_of(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

// Every text of up to `longest` bytes of few different ones, so that many are equal and many begin alike.
std::vector<std::string> random_texts(std::size_t count, std::size_t longest, unsigned seed) {
  std::mt19937 random(seed);
  const std::string letters("aAbB\0\xff\xc3z", 8);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    text.resize(random() % (longest + 1));
    for (char& c : text) c = letters[random() % letters.size()];
  }
  return texts;
}

// A map and a list as the reference.
void expect_like_a_map(const std::vector<std::string>& texts, bool ignore_case) {
  Dictionary one({0, ignore_case, "texts"});
  Dictionary many({0, ignore_case, "texts"});
  std::map<std::string, std::uint32_t> ids;
  std::vector<std::string> first;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> places;
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [found, is_new] = ids.emplace(ignore_case ? upper_of(texts[i]) : texts[i], first.size());
    if (is_new) {
      first.push_back(texts[i]);
      counts.push_back(0);
      places.push_back(i + 7);
    }
    ++counts[found->second];
    expected.push_back(found->second);
    EXPECT_EQ(one.add(texts[i], i + 7), found->second);
  }
  std::vector<std::uint32_t> got(texts.size());
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  many.add(views, got, 7);
  EXPECT_EQ(got, expected);
  std::vector<std::uint32_t> order;
  for (const auto& [text, id] : ids) order.push_back(id);
  for (const Dictionary* found : {&one, &many}) {
    ASSERT_EQ(found->size(), first.size());
    for (std::uint32_t id = 0; id < found->size(); ++id) {
      EXPECT_EQ((*found)[id], first[id]);
      EXPECT_EQ(found->count(id), counts[id]);
      EXPECT_EQ(found->place(id), places[id]);
    }
    EXPECT_EQ(found->in_order(), order);  // std::string compares bytes as unsigned ones
  }
}

TEST(Dictionary, IsAMapOfTexts) {
  for (const bool ignore_case : {false, true}) {
    for (const std::size_t count : {0U, 1U, 2U, 31U, 32U, 33U, 511U, 513U, 5003U}) {
      for (const std::size_t longest : {0U, 1U, 3U, 8U, 21U, 40U}) {
        expect_like_a_map(random_texts(count, longest, static_cast<unsigned>(count + longest)), ignore_case);
      }
    }
    expect_like_a_map(std::vector<std::string>(1000, std::string(100, 'x')), ignore_case);
  }
}

// Long common beginnings, ends within them, and NULs that a shorter text does not have.
TEST(Dictionary, OrdersTextsThatBeginAlike) {
  for (const bool ignore_case : {false, true}) {
    for (const std::size_t common : {0U, 3U, 100U}) {
      std::vector<std::string> texts;
      for (const std::string& end : random_texts(6000, 12, 3)) texts.push_back(std::string(common, 'k') + end);
      for (std::size_t size = 0; size < 600; ++size) texts.push_back(std::string(size, size % 2 == 0 ? 'k' : '\0'));
      expect_like_a_map(texts, ignore_case);
    }
  }
}

TEST(Dictionary, TellsTextsOfAllSizesApart) {
  Dictionary texts({});
  std::string text;
  for (std::uint32_t size = 0; size < 3000; ++size, text += '\0') EXPECT_EQ(texts.add(text), size);
  for (std::uint32_t size = 0; size < 3000; ++size) EXPECT_EQ(texts[size], std::string(size, '\0'));
}

TEST(Dictionary, TellsTextsThatDifferInOneByteApart) {
  for (const bool ignore_case : {false, true}) {
    Dictionary texts({0, ignore_case, ""});
    std::vector<std::string> all;
    for (std::size_t size = 1; size <= 40; ++size) {
      all.emplace_back(size, 'x');
      for (std::size_t at = 0; at < size; ++at) {
        all.emplace_back(size, 'x');
        all.back()[at] = '\x80';
      }
    }
    for (int times = 0; times < 2; ++times) {
      for (std::uint32_t i = 0; i < all.size(); ++i) EXPECT_EQ(texts.add(all[i]), i);
    }
    EXPECT_EQ(texts.size(), all.size());
  }
}

// Their tables lie in large pages.
TEST(Dictionary, MergesManyTexts) {
  constexpr std::uint32_t each = 400000;
  constexpr std::uint32_t shared = 100000;
  Dictionary texts({});
  std::vector<Dictionary> others;
  others.emplace_back(Dictionary::Rules{});
  for (std::uint32_t i = 0; i < each; ++i) {
    EXPECT_EQ(texts.add("user" + std::to_string(i), i), i);
    EXPECT_EQ(others[0].add("user" + std::to_string(each - shared + i), each + i), i);
  }
  std::vector<std::vector<std::uint32_t>> ids(1);
  texts.merge(others, ids);
  ASSERT_EQ(texts.size(), 2 * each - shared);
  for (std::uint32_t i = 0; i < each; ++i) ASSERT_EQ(ids[0][i], each - shared + i);
  const Dictionary moved = std::move(texts);
  for (std::uint32_t i = 0; i < moved.size(); ++i) {
    ASSERT_EQ(moved[i], "user" + std::to_string(i));
    ASSERT_EQ(moved.count(i), i >= each - shared && i < each ? 2 : 1);
  }
}

// Blocks of texts go to several dictionaries in turns, as threads take them.
TEST(Dictionary, MergesByPlaces) {
  for (const bool ignore_case : {false, true}) {
    const std::vector<std::string> texts = random_texts(4001, 4, 5);
    Dictionary all({0, ignore_case, ""});
    Dictionary merged({0, ignore_case, ""});
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < texts.size(); ++i) expected.push_back(all.add(texts[i], i));
    for (std::size_t i = 0; i < 100; ++i) merged.add(texts[i], i);
    std::vector<Dictionary> parts;
    for (int i = 0; i < 3; ++i) parts.emplace_back(Dictionary::Rules{0, ignore_case, ""});
    std::vector<std::pair<std::size_t, std::uint32_t>> in_parts;
    std::mt19937 random(1);
    for (std::size_t first = 100; first < texts.size(); first += 50) {
      const std::size_t part = random() % parts.size();
      for (std::size_t i = first; i < std::min(first + 50, texts.size()); ++i) {
        in_parts.emplace_back(part, parts[part].add(texts[i], i));
      }
    }
    std::vector<std::vector<std::uint32_t>> ids(parts.size());
    merged.merge(parts, ids);
    for (std::size_t i = 100; i < texts.size(); ++i) {
      const auto [part, id] = in_parts[i - 100];
      EXPECT_EQ(ids[part][id], expected[i]);
    }
    ASSERT_EQ(merged.size(), all.size());
    for (std::uint32_t id = 0; id < all.size(); ++id) {
      EXPECT_EQ(merged[id], all[id]);
      EXPECT_EQ(merged.count(id), all.count(id));
      EXPECT_EQ(merged.place(id), all.place(id));
    }
  }
}

TEST(Dictionary, RefusesMoreThanItsMemory) {
  for (const std::size_t longest : {10U, 100U}) {
    Dictionary texts({std::uint64_t{1} << 20, false, "cities.csv"});
    try {
      for (std::uint32_t i = 0; i < 1000000; ++i) texts.add(std::string(longest, 'x') + std::to_string(i));
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      EXPECT_NE(std::string(error.what()).find("cities.csv: its different texts need more than the 1 MiB"),
                std::string::npos);
    }
    EXPECT_LE(texts.memory_bytes(), std::uint64_t{1} << 20);
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(texts.add(std::string(longest, 'x') + std::to_string(i)), i);
  }
}

}  // namespace
}  // namespace masu::io::test

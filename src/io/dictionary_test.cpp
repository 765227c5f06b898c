// SPDX-License-Identifier: Apache-2.0
#include "io/counted_texts.h"

#include <gtest/gtest.h>
#include <masu/error.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <thread>
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
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [found, is_new] = ids.emplace(ignore_case ? upper_of(texts[i]) : texts[i], first.size());
    if (is_new) {
      first.push_back(texts[i]);
      counts.push_back(0);
    }
    ++counts[found->second];
    expected.push_back(found->second);
    EXPECT_EQ(one.add(texts[i]), found->second);
  }
  std::vector<std::uint32_t> got(texts.size());
  std::vector<Dictionary::Item> items;
  for (const std::string& text : texts) items.push_back({text, many.hash(text), items.size() + 7});
  many.add(items, got);
  EXPECT_EQ(got, expected);
  for (const Dictionary* found : {&one, &many}) {
    ASSERT_EQ(found->size(), first.size());
    for (std::uint32_t id = 0; id < found->size(); ++id) {
      EXPECT_EQ((*found)[id], first[id]);
      EXPECT_EQ(found->count(id), counts[id]);
      EXPECT_EQ(found->item(id).text, first[id]);
    }
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
  Dictionary other({});
  for (std::uint32_t i = 0; i < each; ++i) {
    EXPECT_EQ(texts.add("user" + std::to_string(i)), i);
    EXPECT_EQ(other.add("user" + std::to_string(each - shared + i)), i);
  }
  const std::vector<std::uint32_t> ids = texts.merge(other);
  ASSERT_EQ(texts.size(), 2 * each - shared);
  for (std::uint32_t i = 0; i < each; ++i) ASSERT_EQ(ids[i], each - shared + i);
  const Dictionary moved = std::move(texts);
  for (std::uint32_t i = 0; i < moved.size(); ++i) {
    ASSERT_EQ(moved[i], "user" + std::to_string(i));
    ASSERT_EQ(moved.count(i), i >= each - shared && i < each ? 2 : 1);
  }
}

// Where texts come in no order, the spelling of the least place is kept, in the entry and outside of it.
TEST(Dictionary, KeepsTheFirstSpelling) {
  for (const std::string& end : {std::string(), std::string(100, 'x')}) {
    Dictionary texts({0, true, ""});
    const auto add = [&](const std::string& text, std::uint64_t place) {
      EXPECT_EQ(texts.add({text, texts.hash(text), place}, 2), 0);
    };
    add("ab" + end, 5);
    add("AB" + end, 7);
    EXPECT_EQ(texts[0], "ab" + end);
    add("Ab" + end, 3);
    add("aB" + end, 4);
    EXPECT_EQ(texts[0], "Ab" + end);
    EXPECT_EQ(texts.item(0).place, 3);
    EXPECT_EQ(texts.count(0), 8);
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

// Each of several threads adds every so many texts. A map is the reference: std::string compares bytes as unsigned
// ones.
void expect_counted_like_a_map(const std::vector<std::string>& texts, bool ignore_case, std::size_t threads,
                               std::uint64_t memory = 0) {
  struct Known {
    std::string first;
    std::uint64_t count = 0;
  };
  std::map<std::string, Known> known;
  CountedTexts counted({memory, ignore_case, "texts"});
  std::vector<std::vector<std::string>> parts(threads);
  for (std::size_t i = 0; i < texts.size(); ++i) parts[i * threads / texts.size()].push_back(texts[i]);
  for (const std::string& text : texts) {
    Known& one = known[ignore_case ? upper_of(text) : text];
    if (one.count++ == 0) one.first = text;
  }
  std::vector<std::vector<std::uint32_t>> ids(threads);
  std::vector<std::size_t> looked_at(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      CountedTexts::Writer writer(counted, {i << 40, &ids[i], [&, i](std::string_view) { ++looked_at[i]; }});
      for (const std::string& text : parts[i]) writer.add(text);
      writer.finish();
    });
  }
  for (std::thread& thread : running) thread.join();
  const std::vector<std::uint32_t> numbers = counted.put_in_order(true);
  ASSERT_EQ(counted.size(), known.size());
  std::size_t at = 0;
  for (const auto& [text, one] : known) {
    ASSERT_EQ(counted[at], one.first);
    ASSERT_EQ(counted.counts()[at++], one.count);
  }
  std::size_t looks = 0;
  for (std::size_t i = 0; i < threads; ++i) {
    looks += looked_at[i];
    ASSERT_EQ(ids[i].size(), parts[i].size());
    for (std::size_t j = 0; j < ids[i].size(); ++j) {
      const std::string text(counted[numbers[ids[i][j]]]);
      ASSERT_EQ(ignore_case ? upper_of(text) : text, ignore_case ? upper_of(parts[i][j]) : parts[i][j]);
    }
  }
  EXPECT_GE(looks, known.size());
}

TEST(CountedTexts, AreAMap) {
  for (const bool ignore_case : {false, true}) {
    for (const std::size_t count : {0U, 1U, 2U, 255U, 257U, 5003U}) {
      for (const std::size_t longest : {0U, 1U, 7U, 8U, 16U, 21U, 40U}) {
        const std::vector<std::string> texts = random_texts(count, longest, static_cast<unsigned>(count + longest));
        expect_counted_like_a_map(texts, ignore_case, 1);
        expect_counted_like_a_map(texts, ignore_case, 3);
      }
    }
    expect_counted_like_a_map(std::vector<std::string>(1000, std::string(100, 'x')), ignore_case, 2);
  }
}

// So many that they lie in parts; with little memory, few wait.
TEST(CountedTexts, AreAMapOfManyTexts) {
  for (const bool ignore_case : {false, true}) {
    std::vector<std::string> texts = random_texts(60000, 9, 1);
    for (std::size_t i = 0; i < 100000; ++i)
      texts.push_back((i % 3 == 0 ? "User" : "user") + std::to_string(i % 40000));
    std::shuffle(texts.begin(), texts.end(), std::mt19937(2));
    for (const std::size_t threads : {1U, 2U, 5U}) expect_counted_like_a_map(texts, ignore_case, threads);
    expect_counted_like_a_map(texts, ignore_case, 2, std::uint64_t{1} << 24);
  }
}

TEST(CountedTexts, AreLongToo) {
  std::vector<std::string> texts = random_texts(20000, 12, 4);
  for (std::size_t i = 0; i < 200; ++i) texts.push_back(std::string(8000 + i % 100 * 10, 'l') + std::to_string(i % 50));
  std::shuffle(texts.begin(), texts.end(), std::mt19937(3));
  for (const bool ignore_case : {false, true}) expect_counted_like_a_map(texts, ignore_case, 2);
}

// Long common beginnings, ends within them, and NULs that a shorter text does not have.
TEST(CountedTexts, OrdersTextsThatBeginAlike) {
  for (const bool ignore_case : {false, true}) {
    for (const std::size_t common : {0U, 3U, 100U}) {
      std::vector<std::string> texts;
      for (const std::string& end : random_texts(30000, 12, 3)) texts.push_back(std::string(common, 'k') + end);
      for (std::size_t size = 0; size < 600; ++size) texts.push_back(std::string(size, size % 2 == 0 ? 'k' : '\0'));
      expect_counted_like_a_map(texts, ignore_case, 2);
    }
  }
}

TEST(CountedTexts, RefusesMoreThanItsMemory) {
  for (const std::size_t longest : {10U, 100U}) {
    CountedTexts texts({std::uint64_t{1} << 20, false, "cities.csv"});
    CountedTexts::Writer writer(texts, {});
    try {
      for (std::uint32_t i = 0; i < 1000000; ++i) writer.add(std::string(longest, 'x') + std::to_string(i));
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      EXPECT_NE(std::string(error.what()).find("cities.csv: its different texts need more than the 1 MiB"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace masu::io::test

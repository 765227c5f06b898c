// SPDX-License-Identifier: Apache-2.0
// Different texts that several threads count together.
#pragma once

#include "io/dictionary.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace masu::io {

// Texts lie in parts by their hashes, each a dictionary of its own, so that no two threads count the same text twice
// and nothing is joined in the end.
class CountedTexts {
 public:
  // With ignore_case, a text keeps the spelling that has the least place. Rules::taken has no meaning.
  explicit CountedTexts(Dictionary::Rules rules);

  class Writer;
  // The id of a text with its hash, which counts `times` more. Any thread.
  std::uint32_t add(const Dictionary::Item& item, std::uint64_t times);
  // The same of a text, by one thread alone.
  std::uint32_t add(std::string_view text, std::uint64_t place, std::uint64_t times) {
    return add({text, parts_.front().hash(text), place}, times);
  }

  // After all writers have finished, once: numbers the texts from 0 by their bytes; with ignore_case by those that a-z
  // have as A-Z. Returns the number of each id, if these are asked for.
  std::vector<std::uint32_t> put_in_order(bool with_numbers);
  // Then:
  [[nodiscard]] std::uint64_t size() const noexcept { return order_.size(); }
  // Fast where those that follow are asked for next.
  [[nodiscard]] std::string_view operator[](std::uint64_t number) const noexcept {
    fetch(std::min(number + fetched_ahead, size() - 1));
    return text_of(order_[number]);
  }
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return counts_; }

 private:
  static constexpr std::uint64_t fetched_ahead = 16;
  static constexpr unsigned part_bits = 6;
  static constexpr std::size_t all_parts = std::size_t{1} << part_bits;
  static constexpr std::uint32_t id_of(std::uint32_t in_part, std::size_t part) noexcept {
    return in_part << part_bits | static_cast<std::uint32_t>(part);
  }
  [[nodiscard]] static std::size_t part_of_hash(std::uint32_t hash) noexcept { return hash >> (32 - part_bits); }
  [[nodiscard]] const Dictionary& part_of(std::uint32_t id) const noexcept { return parts_[id % all_parts]; }
  [[nodiscard]] std::string_view text_of(std::uint32_t id) const noexcept { return part_of(id)[id >> part_bits]; }

  void fetch(std::uint64_t number) const noexcept { part_of(order_[number]).fetch(order_[number] >> part_bits); }
  [[nodiscard]] std::uint64_t order_key(std::uint32_t id, std::size_t from) const noexcept;
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept;
  [[nodiscard]] std::size_t common_bytes(std::span<const std::uint32_t> ids) const;
  void put_in_order(std::span<std::uint32_t> ids, unsigned depth) const;

  Dictionary::Rules rules_;
  std::atomic<std::uint64_t> taken_{0};  // bytes of all parts
  std::atomic<std::size_t> writers_{0};
  std::vector<Dictionary> parts_;
  std::vector<std::uint32_t> order_;  // ids
  std::vector<std::uint64_t> counts_;
  std::array<std::mutex, all_parts> locks_;
};

// What one thread adds. Few different texts are counted in a dictionary of its own. Where there are more, they wait
// until many of a part can be counted together, while what they need of the part is in the cache.
class CountedTexts::Writer {
 public:
  struct Options {
    std::uint64_t place = 0;                     // of the first text; those of the others follow
    std::vector<std::uint32_t>* ids = nullptr;   // empty: gets the id of each text, valid after finish()
    std::function<void(std::string_view)> look;  // gets each text when it is new
  };
  Writer(CountedTexts& to, Options options);

  // Throws out_of_memory where the limit would be passed.
  void add(std::string_view text);
  // All that was added, so that `look` has seen it.
  void flush();
  // After the last text.
  void finish();

 private:
  // Texts of a part, each after its Head, and its place where places are asked for.
  struct Head {
    std::uint32_t hash = 0;
    std::uint32_t size = 0;
  };
  struct Waiting {
    std::unique_ptr<char[]> bytes;
    std::size_t used = 0;
  };
  [[nodiscard]] bool is_alone() const noexcept { return waiting_.size() == 1; }
  [[nodiscard]] std::size_t place_of(std::uint32_t hash) const noexcept { return is_alone() ? 0 : part_of_hash(hash); }
  void count(std::size_t place);
  void count(Dictionary& texts, std::size_t place, std::span<const Dictionary::Item> items);
  void share();

  CountedTexts& to_;
  Options options_;
  std::uint64_t added_ = 0;
  Dictionary own_;
  bool with_places_;
  std::size_t most_bytes_;        // that wait for a part
  std::size_t first_part_;        // to be counted in the end: threads begin at different ones
  std::vector<Waiting> waiting_;  // for own_, or for each part
};

}  // namespace masu::io

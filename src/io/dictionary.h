// SPDX-License-Identifier: Apache-2.0
// Different texts, numbered in the order in which they were first seen, with how often each was.
#pragma once

#include <masu/io.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::io {

constexpr char upper_letter(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

void* allocate_pages(std::size_t bytes);
void free_pages(void* address, std::size_t bytes) noexcept;

// Large tables lie in large pages. Their entries are read in no order, and each small page would need a translation.
template <class T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class U>
  explicit LargePages(const LargePages<U>& /*other*/) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(allocate_pages(count * sizeof(T))); }
  void deallocate(T* address, std::size_t count) noexcept { free_pages(address, count * sizeof(T)); }
  // Elements without a value stay as the pages are.
  template <class U, class... Values>
  void construct(U* at, Values&&... values) {
    if constexpr (sizeof...(Values) == 0) ::new (static_cast<void*>(at)) U;
    else ::new (static_cast<void*>(at)) U(std::forward<Values>(values)...);
  }
  friend bool operator==(LargePages /*a*/, LargePages /*b*/) noexcept { return true; }
};

// Texts are bytes of any kind, NUL too. Ids count from 0, and do not depend on how texts are found.
class Dictionary {
 public:
  struct Rules {
    std::uint64_t memory = 0;                     // bytes that it may take; 0: no limit
    bool ignore_case = false;                     // a-z are A-Z; a text keeps the spelling that came first
    std::string name;                             // of the input, for errors
    std::atomic<std::uint64_t>* taken = nullptr;  // by dictionaries that share the memory; null: it is for this one
  };
  explicit Dictionary(Rules rules);

  struct Item {
    std::string_view text;
    std::uint32_t hash = 0;
    std::uint64_t place = 0;  // in the input
  };
  [[nodiscard]] std::uint32_t hash(std::string_view text);
  // The id of a text, which counts once, or `times`, more. Throws out_of_memory where the limit would be passed.
  std::uint32_t add(const Item& item, std::uint64_t times);
  // The same, fast where few different short texts are added.
  std::uint32_t add(std::string_view text);
  // The same of many texts, faster where they are many different ones.
  void add(std::span<const Item> items, std::span<std::uint32_t> ids);
  // Adds what another of the same rules has, as if its texts came after those of this one. Returns the ids that they
  // have here.
  std::vector<std::uint32_t> merge(const Dictionary& other);

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }
  // Valid until a text is added.
  [[nodiscard]] std::string_view operator[](std::uint32_t id) const noexcept { return text_of(entries_[id]); }
  [[nodiscard]] std::uint64_t count(std::uint32_t id) const noexcept { return entries_[id].count; }
  // Before a text is asked for soon.
  void fetch(std::uint32_t id) const noexcept { __builtin_prefetch(&entries_[id]); }
  // A text with its hash, and with ignore_case the place of its spelling, which is the first.
  [[nodiscard]] Item item(std::uint32_t id) const noexcept {
    return {(*this)[id], hashes_[id], places_.empty() ? 0 : places_[id]};
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  // Only the texts and their counts stay.
  void forget_hashes() noexcept;

 private:
  // A text and its count. A short one lies in the entry, so that finding it touches one line of the cache.
  struct alignas(32) Entry {
    static constexpr std::size_t most_inside = 20;
    std::uint64_t count;
    std::uint32_t size;
    std::array<char, most_inside> inside;  // or the address of a longer text, after its first bytes
  };
  [[nodiscard]] static std::string_view text_of(const Entry& entry) noexcept {
    if (entry.size <= Entry::most_inside) return {entry.inside.data(), entry.size};
    const char* text = nullptr;
    std::memcpy(&text, entry.inside.data() + head_bytes, sizeof text);
    return {text, entry.size};
  }
  static constexpr std::size_t head_bytes = Entry::most_inside - sizeof(const char*);
  [[nodiscard]] std::size_t entry_bytes() const noexcept {
    return sizeof(Entry) + sizeof(std::uint32_t) + (rules_.ignore_case ? sizeof(std::uint64_t) : 0);
  }
  // An id + 1; 0 is free.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = 0;
  };

  // A short text that add() found: its size, all of its bytes as two words, and its id.
  struct Known {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint32_t size = nothing;
    std::uint32_t id = 0;
    static constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();
  };
  [[nodiscard]] std::size_t slot_of(std::uint32_t hash) const noexcept { return hash & (slots_.size() - 1); }
  [[nodiscard]] bool same(const Entry& entry, std::string_view text) const noexcept;
  std::uint32_t insert(const Item& item, std::uint64_t times);
  void respell(std::uint32_t id, const Item& item) noexcept;
  void fetch_slots(std::span<const Item> items) const;
  void fetch(std::span<const Item> items) const;
  const char* keep(std::string_view text);
  void grow();
  void take(std::uint64_t more) const;
  void give_back(std::uint64_t bytes) const noexcept;

  Rules rules_;
  std::uint64_t seed_;
  std::vector<Slot, LargePages<Slot>> slots_;  // a power of two, at most half of them taken
  std::vector<Entry, LargePages<Entry>> entries_;
  std::vector<Known> known_;
  std::vector<std::uint64_t> places_;  // with ignore_case
  std::vector<std::uint32_t> hashes_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // of the last block
  std::size_t room_ = 0;
  std::uint64_t block_bytes_ = 0;  // of all blocks
  std::string folded_;
};

// Its texts as values, in their order; `values` gets that of each id.
std::shared_ptr<const ValueNames> names_of_texts(const Dictionary& texts, const Dictionary::Rules& rules,
                                                 std::vector<std::uint32_t>& values);

}  // namespace masu::io

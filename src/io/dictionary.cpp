// SPDX-License-Identifier: Apache-2.0
#include "io/dictionary.h"

#include "io/reader.h"

#include <fmt/format.h>
#include <masu/error.h>
#include <sys/mman.h>
#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <random>
#include <utility>

namespace masu::io {
namespace {

constexpr std::size_t first_slots = 64;
constexpr std::size_t arena_block = std::size_t{1} << 20;
constexpr std::size_t texts_ahead = 16;  // are fetched while as many in front of them are compared

constexpr std::size_t large_page = std::size_t{1} << 21;
constexpr std::size_t cache_line = 64;

constexpr std::size_t most_known = 4096;
constexpr std::size_t known_together = 4;  // places for one text

template <class T>
std::uint64_t load(const char* from) noexcept {
  T word{};
  std::memcpy(&word, from, sizeof word);
  return word;
}
constexpr auto load_word = load<std::uint64_t>;

// All of a text of less than 8 bytes.
std::uint64_t load_short(const char* from, std::size_t bytes) noexcept {
  if (bytes >= 4) return load<std::uint32_t>(from) | load<std::uint32_t>(from + bytes - 4) << 32;
  if (bytes == 0) return 0;
  return load<std::uint8_t>(from) | load<std::uint8_t>(from + bytes / 2) << 8 |
         load<std::uint8_t>(from + bytes - 1) << 16;
}

// Short texts are compared without a call.
bool same_bytes(std::string_view a, std::string_view b) noexcept {
  const std::size_t bytes = a.size();
  if (bytes > 16) return a == b;
  if (bytes < 8) return load_short(a.data(), bytes) == load_short(b.data(), bytes);
  const std::size_t last = bytes - 8;
  return load_word(a.data()) == load_word(b.data()) && load_word(a.data() + last) == load_word(b.data() + last);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

constexpr std::uint64_t odd_a = 0x9e3779b97f4a7c15;
constexpr std::uint64_t odd_b = 0xd6e8feb86659fd93;

// The seed differs from process to process, so that no input can be made whose texts all meet.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) noexcept {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t state = seed ^ (left * odd_b);
  for (; left > 16; at += 16, left -= 16)
    state = mix(state ^ load_word(at), odd_a ^ load_word(at + 8)) ^ std::rotl(state, 23);
  const std::uint64_t first = left >= 8 ? load_word(at) : load_short(at, left);
  const std::uint64_t last = left >= 8 ? load_word(at + left - 8) : 0;
  return mix(mix(state ^ first, odd_a ^ last ^ seed), odd_b);
}

std::uint64_t new_seed() {
  static const std::uint64_t seed = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }();
  return seed;
}

}  // namespace

void* allocate_pages(std::size_t bytes) {
  if (bytes < 2 * large_page) return ::operator new (bytes, std::align_val_t{cache_line});
  void* const address = ::operator new (bytes, std::align_val_t{large_page});
  ::madvise(address, bytes / large_page * large_page, MADV_HUGEPAGE);  // where there are none, small ones do
  return address;
}

void free_pages(void* address, std::size_t bytes) noexcept {
  if (bytes < 2 * large_page) ::operator delete (address, std::align_val_t{cache_line});
  else ::operator delete (address, std::align_val_t{large_page});
}

Dictionary::Dictionary(Rules rules) : rules_(std::move(rules)), seed_(new_seed()), slots_(first_slots) {
  if (rules_.taken != nullptr) *rules_.taken += memory_bytes();
}

std::uint64_t Dictionary::memory_bytes() const noexcept {
  return slots_.capacity() * sizeof(Slot) + entries_.capacity() * entry_bytes() + block_bytes_;
}

void Dictionary::take(std::uint64_t more) const {
  const std::uint64_t taken = rules_.taken != nullptr ? rules_.taken->fetch_add(more) : memory_bytes();
  if (rules_.memory == 0 || taken + more <= rules_.memory) return;
  give_back(more);
  throw Error(ErrorCode::out_of_memory,
              fmt::format("{}: its different texts need more than the {} MiB that they may take (--memory)",
                          rules_.name, rules_.memory >> 20));
}

void Dictionary::give_back(std::uint64_t bytes) const noexcept {
  if (rules_.taken != nullptr) rules_.taken->fetch_sub(bytes);
}

std::uint32_t Dictionary::hash(std::string_view text) {
  if (rules_.ignore_case) {
    folded_.resize(text.size());
    std::transform(text.begin(), text.end(), folded_.begin(), upper_letter);
    text = folded_;
  }
  return static_cast<std::uint32_t>(hash_of(text, seed_));
}

bool Dictionary::same(const Entry& entry, std::string_view text) const noexcept {
  if (entry.size != text.size()) return false;
  const std::string_view kept = text_of(entry);
  if (!rules_.ignore_case) return same_bytes(kept, text);
  return std::equal(kept.begin(), kept.end(), text.begin(),
                    [](char a, char b) { return upper_letter(a) == upper_letter(b); });
}

std::uint32_t Dictionary::add(const Item& item, std::uint64_t times) {
  for (std::size_t at = slot_of(item.hash);; at = slot_of(static_cast<std::uint32_t>(at + 1))) {
    Slot& slot = slots_[at];
    if (slot.id == 0) {
      const std::uint32_t id = insert(item, times);
      slot = {item.hash, id + 1};
      if (entries_.size() > slots_.size() / 2) grow();
      return id;
    }
    if (slot.hash != item.hash) continue;
    Entry& entry = entries_[slot.id - 1];
    if (!same(entry, item.text)) continue;
    entry.count += times;
    if (rules_.ignore_case && item.place < places_[slot.id - 1]) respell(slot.id - 1, item);
    return slot.id - 1;
  }
}

std::uint32_t Dictionary::add(std::string_view text) {
  const std::size_t size = text.size();
  if (size > 16) return add({text, hash(text), 0}, 1);
  const std::uint64_t first = size >= 8 ? load_word(text.data()) : load_short(text.data(), size);
  const std::uint64_t last = size >= 8 ? load_word(text.data() + size - 8) : 0;
  if (known_.empty()) known_.resize(most_known + known_together);
  Known* const home = known_.data() + mix(first ^ size, last ^ odd_a) % most_known;
  Known* at = home;
  for (; at != home + known_together && at->size != Known::nothing; ++at) {
    if (at->first != first || at->last != last || at->size != size) continue;
    ++entries_[at->id].count;
    return at->id;
  }
  const std::uint32_t id = add({text, hash(text), 0}, 1);
  *(at != home + known_together ? at : home) = {first, last, static_cast<std::uint32_t>(size), id};
  return id;
}

// Texts of several threads do not come in their order.
void Dictionary::respell(std::uint32_t id, const Item& item) noexcept {
  places_[id] = item.place;
  Entry& entry = entries_[id];
  char* kept = entry.inside.data();
  if (entry.size > Entry::most_inside) std::memcpy(&kept, entry.inside.data() + head_bytes, sizeof kept);
  std::copy(item.text.begin(), item.text.end(), kept);
}

void Dictionary::fetch_slots(std::span<const Item> items) const {
  for (const Item& item : items) __builtin_prefetch(&slots_[slot_of(item.hash)]);
}

// After their slots.
void Dictionary::fetch(std::span<const Item> items) const {
  for (const Item& item : items) {
    std::size_t at = slot_of(item.hash);
    while (slots_[at].id != 0 && slots_[at].hash != item.hash) at = slot_of(static_cast<std::uint32_t>(at + 1));
    if (slots_[at].id != 0) fetch(slots_[at].id - 1);
  }
}

void Dictionary::add(std::span<const Item> items, std::span<std::uint32_t> ids) {
  const auto some = [&](std::size_t first) {
    first = std::min(first, items.size());
    return items.subspan(first, std::min(texts_ahead, items.size() - first));
  };
  fetch_slots(some(0));
  fetch(some(0));
  fetch_slots(some(texts_ahead));
  for (std::size_t first = 0; first < items.size(); first += texts_ahead) {
    fetch_slots(some(first + 2 * texts_ahead));
    fetch(some(first + texts_ahead));
    for (std::size_t i = first; i < std::min(first + texts_ahead, items.size()); ++i) ids[i] = add(items[i], 1);
  }
}

std::vector<std::uint32_t> Dictionary::merge(const Dictionary& other) {
  std::vector<std::uint32_t> ids;
  ids.reserve(other.size());
  std::array<Item, texts_ahead> items;
  for (std::uint32_t id = 0; id < other.size(); ++id) {
    const std::uint32_t some = id % texts_ahead;
    for (std::uint32_t i = 0; some == 0 && i < std::min<std::size_t>(texts_ahead, other.size() - id); ++i)
      items[i] = other.item(id + i);
    const auto next = std::span(items).first(std::min<std::size_t>(texts_ahead, other.size() - id));
    if (some == 0) fetch_slots(next);
    if (some == 0) fetch(next);
    ids.push_back(add(items[some], other.count(id)));
  }
  return ids;
}

std::uint32_t Dictionary::insert(const Item& item, std::uint64_t times) {
  const std::string_view text = item.text;
  // Each slot must be one that a hash can tell.
  const std::size_t most = std::numeric_limits<std::uint32_t>::max() / (rules_.taken != nullptr ? 128 : 2);
  if (entries_.size() >= most || text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{}: more than {} different texts", rules_.name, most));
  }
  if (entries_.size() == entries_.capacity()) {
    const std::size_t before = entries_.capacity();
    const std::size_t room = std::max<std::size_t>(first_slots / 2, before * 2);
    take(room * entry_bytes());  // while they are moved, the old ones are there too
    entries_.reserve(room);
    if (rules_.ignore_case) places_.reserve(room);
    hashes_.reserve(room);
    give_back(before * entry_bytes());
  }
  Entry entry{};
  entry.count = times;
  entry.size = static_cast<std::uint32_t>(text.size());
  if (text.size() <= Entry::most_inside) {
    std::copy(text.begin(), text.end(), entry.inside.begin());
  } else {
    std::copy_n(text.begin(), head_bytes, entry.inside.begin());
    const char* kept = keep(text);
    std::memcpy(entry.inside.data() + head_bytes, &kept, sizeof kept);
  }
  entries_.push_back(entry);
  if (rules_.ignore_case) places_.push_back(item.place);
  hashes_.push_back(item.hash);
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void Dictionary::forget_hashes() noexcept {
  slots_ = {};
  known_ = {};
  places_ = {};
  hashes_ = {};
}

const char* Dictionary::keep(std::string_view text) {
  if (room_ < text.size()) {
    const std::size_t bytes =
        std::max(std::min(arena_block, std::max<std::size_t>(first_slots, block_bytes_)), text.size());
    take(bytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    block_bytes_ += bytes;
    free_ = blocks_.back().get();
    room_ = bytes;
  }
  char* kept = free_;
  std::copy(text.begin(), text.end(), kept);
  free_ += text.size();
  room_ -= text.size();
  return kept;
}

void Dictionary::grow() {
  take(2 * slots_.size() * sizeof(Slot));
  give_back(slots_.size() * sizeof(Slot));
  slots_ = decltype(slots_)(2 * slots_.size());
  for (std::uint32_t id = 0; id < entries_.size(); ++id) {
    std::size_t at = slot_of(hashes_[id]);
    while (slots_[at].id != 0) at = slot_of(static_cast<std::uint32_t>(at + 1));
    slots_[at] = {hashes_[id], id + 1};
  }
}

}  // namespace masu::io

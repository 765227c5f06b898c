// SPDX-License-Identifier: Apache-2.0
#include "io/dictionary.h"

#include "io/reader.h"

#include <fmt/format.h>
#include <masu/error.h>
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace masu::io {
namespace {

constexpr std::size_t first_slots = 1024;
constexpr std::size_t arena_block = std::size_t{1} << 20;
constexpr std::size_t texts_ahead = 32;  // whose slots are fetched before the first of them is compared

constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::uint64_t load(const char* from, std::size_t bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
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
    state = mix(state ^ load(at, 8), odd_a ^ load(at + 8, 8)) ^ std::rotl(state, 23);
  const std::uint64_t first = left >= 8 ? load(at, 8) : load(at, left);
  const std::uint64_t last = left >= 8 ? load(at + left - 8, 8) : 0;
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

Dictionary::Dictionary(Rules rules) : rules_(std::move(rules)), seed_(new_seed()), slots_(first_slots) {}

std::uint64_t Dictionary::memory_bytes() const noexcept {
  return slots_.capacity() * sizeof(Slot) + entries_.capacity() * entry_bytes + block_bytes_;
}

void Dictionary::allow(std::uint64_t more) const {
  if (rules_.memory == 0 || memory_bytes() + more <= rules_.memory) return;
  throw Error(ErrorCode::out_of_memory,
              fmt::format("{}: its different texts need more than the {} MiB that they may take: {} of them were found "
                          "so far (--memory)",
                          rules_.name, rules_.memory >> 20, entries_.size()));
}

std::uint32_t Dictionary::hash(std::string_view text) {
  if (rules_.ignore_case) {
    folded_.resize(text.size());
    std::transform(text.begin(), text.end(), folded_.begin(), upper);
    text = folded_;
  }
  return static_cast<std::uint32_t>(hash_of(text, seed_));
}

bool Dictionary::same(const Entry& entry, std::string_view text) const noexcept {
  if (entry.size != text.size()) return false;
  const std::string_view kept = text_of(entry);
  if (!rules_.ignore_case) return kept == text;
  return std::equal(kept.begin(), kept.end(), text.begin(), [](char a, char b) { return upper(a) == upper(b); });
}

std::uint32_t Dictionary::add_hashed(std::string_view text, std::uint32_t hash, std::uint64_t place,
                                     std::uint64_t times) {
  for (std::size_t at = slot_of(hash);; at = slot_of(static_cast<std::uint32_t>(at + 1))) {
    Slot& slot = slots_[at];
    if (slot.id == 0) {
      const std::uint32_t id = insert(text, hash, place, times);
      slot = {hash, id + 1};
      if (entries_.size() > slots_.size() / 2) grow();
      return id;
    }
    if (slot.hash != hash) continue;
    Entry& entry = entries_[slot.id - 1];
    if (!same(entry, text)) continue;
    entry.count += times;
    return slot.id - 1;
  }
}

void Dictionary::fetch(std::span<const std::uint32_t> hashes) const {
  for (const std::uint32_t hash : hashes) __builtin_prefetch(&slots_[slot_of(hash)]);
  for (const std::uint32_t hash : hashes) {
    const std::uint32_t id = slots_[slot_of(hash)].id;
    if (id != 0) __builtin_prefetch(&entries_[id - 1]);
  }
}

void Dictionary::add(std::span<const std::string_view> texts, std::span<std::uint32_t> ids, std::uint64_t place) {
  std::array<std::uint32_t, texts_ahead> hashes{};
  for (std::size_t first = 0; first < texts.size(); first += texts_ahead) {
    const std::size_t some = std::min(texts_ahead, texts.size() - first);
    for (std::size_t i = 0; i < some; ++i) hashes[i] = hash(texts[first + i]);
    fetch({hashes.data(), some});
    for (std::size_t i = 0; i < some; ++i) {
      const std::uint32_t id = add_hashed(texts[first + i], hashes[i], place + first + i, 1);
      if (!ids.empty()) ids[first + i] = id;
    }
  }
}

void Dictionary::merge(std::span<const Dictionary> others, std::span<std::vector<std::uint32_t>> ids) {
  std::vector<std::uint32_t> next(others.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i].resize(others[i].size());
  for (;;) {
    std::size_t first = others.size();
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (next[i] == others[i].size()) continue;
      if (first == others.size() || others[i].places_[next[i]] < others[first].places_[next[first]]) first = i;
    }
    if (first == others.size()) return;
    const Dictionary& other = others[first];
    const std::uint32_t from = next[first]++;
    if (from % texts_ahead == 0)
      fetch(std::span(other.hashes_).subspan(from, std::min<std::size_t>(texts_ahead, other.size() - from)));
    const std::uint32_t id = add_hashed(other[from], other.hashes_[from], other.places_[from], other.count(from));
    if (!ids.empty()) ids[first][from] = id;
  }
}

std::uint32_t Dictionary::insert(std::string_view text, std::uint32_t hash, std::uint64_t place, std::uint64_t times) {
  // Each slot must be one that a hash can tell.
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() / 2;
  if (entries_.size() >= most || text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{}: more than {} different texts", rules_.name, most));
  }
  if (entries_.size() == entries_.capacity()) {
    const std::size_t room = std::max<std::size_t>(first_slots / 2, entries_.capacity() * 2);
    allow(room * entry_bytes);  // while they are moved, the old ones are there too
    entries_.reserve(room);
    places_.reserve(room);
    hashes_.reserve(room);
  }
  Entry entry;
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
  places_.push_back(place);
  hashes_.push_back(hash);
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

const char* Dictionary::keep(std::string_view text) {
  if (room_ < text.size()) {
    const std::size_t bytes =
        std::max(std::min(arena_block, std::max<std::size_t>(first_slots, block_bytes_)), text.size());
    allow(bytes);
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
  allow(2 * slots_.size() * sizeof(Slot));
  slots_ = std::vector<Slot>(2 * slots_.size());
  for (std::uint32_t id = 0; id < entries_.size(); ++id) {
    std::size_t at = slot_of(hashes_[id]);
    while (slots_[at].id != 0) at = slot_of(static_cast<std::uint32_t>(at + 1));
    slots_[at] = {hashes_[id], id + 1};
  }
}

std::vector<std::uint32_t> Dictionary::in_order() const {
  // The first eight bytes decide most comparisons.
  struct Keyed {
    std::uint64_t head;
    std::uint32_t id;
  };
  std::vector<Keyed> keyed(size());
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::string_view text = (*this)[id];
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const char c = i < text.size() ? (rules_.ignore_case ? upper(text[i]) : text[i]) : '\0';
      head = head << 8 | static_cast<unsigned char>(c);
    }
    keyed[id] = {head, id};
  }
  std::sort(keyed.begin(), keyed.end(), [this](const Keyed& a, const Keyed& b) {
    if (a.head != b.head) return a.head < b.head;
    const std::string_view left = (*this)[a.id];
    const std::string_view right = (*this)[b.id];
    if (!rules_.ignore_case) return left < right;
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(), [](char x, char y) {
      return static_cast<unsigned char>(upper(x)) < static_cast<unsigned char>(upper(y));
    });
  });
  std::vector<std::uint32_t> ids(keyed.size());
  std::transform(keyed.begin(), keyed.end(), ids.begin(), [](const Keyed& one) { return one.id; });
  return ids;
}

}  // namespace masu::io

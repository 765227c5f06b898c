// SPDX-License-Identifier: Apache-2.0
#include "io/dictionary.h"

#include "io/reader.h"

#include <fmt/format.h>
#include <masu/device.h>
#include <masu/error.h>
#include <masu/sort.h>
#include <sys/mman.h>
#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <utility>

namespace masu::io {
namespace {

constexpr std::size_t first_slots = 1024;
constexpr std::size_t arena_block = std::size_t{1} << 20;
constexpr std::size_t texts_ahead = 32;  // whose slots are fetched before the first of them is compared

constexpr std::size_t large_page = std::size_t{1} << 21;

constexpr std::size_t least_sorted = 256;  // fewer texts are compared with each other
constexpr unsigned most_depth = 16;

constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

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
  if (bytes < 2 * large_page) return ::operator new(bytes);
  void* const address = ::operator new (bytes, std::align_val_t{large_page});
  ::madvise(address, bytes / large_page * large_page, MADV_HUGEPAGE);  // where there are none, small ones do
  return address;
}

void free_pages(void* address, std::size_t bytes) noexcept {
  if (bytes < 2 * large_page) ::operator delete(address);
  else ::operator delete (address, std::align_val_t{large_page});
}

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
  if (!rules_.ignore_case) return same_bytes(kept, text);
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
    std::size_t at = slot_of(hash);
    while (slots_[at].id != 0 && slots_[at].hash != hash) at = slot_of(static_cast<std::uint32_t>(at + 1));
    if (slots_[at].id != 0) fetch(slots_[at].id - 1);
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
  slots_ = decltype(slots_)(2 * slots_.size());
  for (std::uint32_t id = 0; id < entries_.size(); ++id) {
    std::size_t at = slot_of(hashes_[id]);
    while (slots_[at].id != 0) at = slot_of(static_cast<std::uint32_t>(at + 1));
    slots_[at] = {hashes_[id], id + 1};
  }
}

// The bytes that order a text from a place on.
std::uint64_t Dictionary::order_key(std::uint32_t id, std::size_t from) const noexcept {
  const std::string_view text = (*this)[id];
  std::uint64_t key = 0;
  for (std::size_t i = from; i < from + sizeof key; ++i) {
    const char c = i >= text.size() ? '\0' : rules_.ignore_case ? upper(text[i]) : text[i];
    key = key << 8 | static_cast<unsigned char>(c);
  }
  return key;
}

bool Dictionary::before(std::uint32_t a, std::uint32_t b) const noexcept {
  const std::string_view left = (*this)[a];
  const std::string_view right = (*this)[b];
  if (!rules_.ignore_case) return left < right;
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(), [](char x, char y) {
    return static_cast<unsigned char>(upper(x)) < static_cast<unsigned char>(upper(y));
  });
}

// How many bytes all of some texts begin with.
std::size_t Dictionary::common_bytes(std::span<const std::uint32_t> ids) const noexcept {
  std::string_view common = (*this)[ids.front()];
  for (const std::uint32_t id : ids) {
    const std::string_view text = (*this)[id];
    const auto last = std::mismatch(common.begin(), common.end(), text.begin(), text.end(), [this](char a, char b) {
      return rules_.ignore_case ? upper(a) == upper(b) : a == b;
    });
    common = common.substr(0, static_cast<std::size_t>(last.first - common.begin()));
    if (common.empty()) break;
  }
  return common.size();
}

// By the eight bytes after those that all begin with, as whole numbers; then the texts in which these are equal.
void Dictionary::put_in_order(std::span<std::uint32_t> ids, unsigned depth) const {
  const auto compare = [&](std::span<std::uint32_t> some) {
    std::sort(some.begin(), some.end(), [this](std::uint32_t a, std::uint32_t b) { return before(a, b); });
  };
  if (ids.size() < least_sorted || depth == most_depth) return compare(ids);
  const std::size_t from = common_bytes(ids);
  std::vector<std::uint64_t> keys(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) keys[i] = order_key(ids[i], from);
  sort_by_key(Device::open("cpu"), MutableArrayView(keys), RecordsView(ids.data(), sizeof ids[0], ids.size()));
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t end = first + 1;
    while (end < ids.size() && keys[end] == keys[first]) ++end;
    if (end - first > 1) put_in_order(ids.subspan(first, end - first), depth + 1);
    first = end;
  }
}

std::vector<std::uint32_t> Dictionary::in_order() const {
  std::vector<std::uint32_t> ids(size());
  std::iota(ids.begin(), ids.end(), 0U);
  if (!ids.empty()) put_in_order(ids, 0);
  return ids;
}

}  // namespace masu::io

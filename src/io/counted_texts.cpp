// SPDX-License-Identifier: Apache-2.0
#include "io/counted_texts.h"

#include "runtime/parallel.h"

#include <masu/device.h>
#include <masu/sort.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace masu::io {
namespace {

constexpr std::uint32_t most_own = std::uint32_t{1} << 13;  // texts that a thread counts for itself
// Bytes that wait: few for its own dictionary; for a part as many as fill most of its pages.
constexpr std::size_t bytes_alone = std::size_t{1} << 13;
constexpr std::size_t most_of_part = std::size_t{1} << 19;
constexpr std::size_t counted_together = 256;

constexpr std::size_t least_sorted = 256;  // fewer texts are compared with each other
constexpr unsigned most_depth = 16;
constexpr std::uint64_t of_task = std::uint64_t{1} << 14;  // texts

// Most texts are short.
void copy_text(std::string_view text, char* target) noexcept {
  const std::size_t bytes = text.size();
  if (bytes >= 8 && bytes <= 16) {
    std::array<char, 16> ends;
    std::memcpy(ends.data(), text.data(), 8);
    std::memcpy(ends.data() + 8, text.data() + bytes - 8, 8);
    std::memcpy(target, ends.data(), 8);
    std::memcpy(target + bytes - 8, ends.data() + 8, 8);
  } else {
    std::memcpy(target, text.data(), bytes);
  }
}

}  // namespace

CountedTexts::CountedTexts(Dictionary::Rules rules) : rules_(std::move(rules)) {
  rules_.taken = &taken_;
  parts_.reserve(all_parts);
  for (std::size_t i = 0; i < all_parts; ++i) parts_.emplace_back(rules_);
}

std::uint32_t CountedTexts::add(const Dictionary::Item& item, std::uint64_t times) {
  const std::size_t part = part_of_hash(item.hash);
  const std::lock_guard guard(locks_[part]);
  return id_of(parts_[part].add(item, times), part);
}

// The bytes that order a text from a place on.
std::uint64_t CountedTexts::order_key(std::uint32_t id, std::size_t from) const noexcept {
  std::string_view text = text_of(id);
  text.remove_prefix(std::min(from, text.size()));
  std::array<char, sizeof(std::uint64_t)> head{};
  std::copy_n(text.begin(), std::min(text.size(), head.size()), head.begin());
  std::uint64_t key = 0;
  for (const char c : head) key = key << 8 | static_cast<unsigned char>(rules_.ignore_case ? upper_letter(c) : c);
  return key;
}

bool CountedTexts::before(std::uint32_t a, std::uint32_t b) const noexcept {
  const std::string_view left = text_of(a);
  const std::string_view right = text_of(b);
  if (!rules_.ignore_case) return left < right;
  return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(), [](char x, char y) {
    return static_cast<unsigned char>(upper_letter(x)) < static_cast<unsigned char>(upper_letter(y));
  });
}

// How many bytes all of some texts begin with.
std::size_t CountedTexts::common_bytes(std::span<const std::uint32_t> ids) const {
  const std::string_view one = text_of(ids.front());
  std::atomic<std::size_t> least{one.size()};
  runtime::parallel_parts(ids.size(), of_task, [&](std::uint64_t first, std::uint64_t end) {
    std::string_view common = one;
    for (const std::uint32_t id : ids.subspan(first, end - first)) {
      const std::string_view text = text_of(id);
      if (text.starts_with(common)) continue;
      const auto last = std::mismatch(common.begin(), common.end(), text.begin(), text.end(), [this](char a, char b) {
        return rules_.ignore_case ? upper_letter(a) == upper_letter(b) : a == b;
      });
      common = common.substr(0, static_cast<std::size_t>(last.first - common.begin()));
    }
    for (std::size_t known = least; common.size() < known && !least.compare_exchange_weak(known, common.size());) {
    }
  });
  return least;
}

// By the eight bytes after those that all begin with, as whole numbers; then the texts in which these are equal.
void CountedTexts::put_in_order(std::span<std::uint32_t> ids, unsigned depth) const {
  if (ids.size() < least_sorted || depth == most_depth) {
    std::sort(ids.begin(), ids.end(), [this](std::uint32_t a, std::uint32_t b) { return before(a, b); });
    return;
  }
  const std::size_t from = common_bytes(ids);
  std::vector<std::uint64_t> keys(ids.size());
  runtime::parallel_parts(ids.size(), of_task, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) keys[i] = order_key(ids[i], from);
  });
  sort_by_key(Device::open("cpu"), MutableArrayView(keys), RecordsView(ids.data(), sizeof ids[0], ids.size()));
  runtime::parallel_parts(ids.size(), of_task, [&](std::uint64_t first, std::uint64_t end) {
    while (first != 0 && first != end && keys[first] == keys[first - 1]) ++first;  // of the task before
    while (first < end) {
      std::uint64_t after = first + 1;
      while (after < ids.size() && keys[after] == keys[first]) ++after;
      if (after - first > 1) put_in_order(ids.subspan(first, after - first), depth + 1);
      first = after;
    }
  });
}

std::vector<std::uint32_t> CountedTexts::put_in_order(bool with_numbers) {
  std::uint32_t most = 0;
  std::size_t all = 0;
  for (const Dictionary& part : parts_) {
    most = std::max(most, part.size());
    all += part.size();
  }
  order_.reserve(all);
  for (std::size_t part = 0; part < all_parts; ++part) {
    for (std::uint32_t i = 0; i < parts_[part].size(); ++i) order_.push_back(id_of(i, part));
  }
  put_in_order(order_, 0);
  counts_.resize(all);
  std::vector<std::uint32_t> numbers(with_numbers ? std::size_t{most} << part_bits : 0);
  runtime::parallel_parts(all, of_task, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) {
      fetch(std::min(i + fetched_ahead, end - 1));
      counts_[i] = part_of(order_[i]).count(order_[i] >> part_bits);
      if (with_numbers) numbers[order_[i]] = static_cast<std::uint32_t>(i);
    }
  });
  for (Dictionary& part : parts_) part.forget_hashes();
  return numbers;
}

CountedTexts::Writer::Writer(CountedTexts& to, Options options)
    : to_(to),
      options_(std::move(options)),
      own_(to.rules_),
      with_places_(options_.ids != nullptr || to.rules_.ignore_case),
      most_bytes_(to.rules_.memory == 0
                      ? most_of_part
                      : std::clamp<std::uint64_t>(to.rules_.memory / 1024, bytes_alone, most_of_part)),
      first_part_(to.writers_++ * 27 % all_parts) {
  waiting_.push_back({std::make_unique_for_overwrite<char[]>(bytes_alone), 0});
}

void CountedTexts::Writer::add(std::string_view text) {
  const std::uint32_t hash = own_.hash(text);
  const std::uint64_t place = options_.place + added_++;
  const std::size_t bytes = sizeof(Head) + (with_places_ ? sizeof place : 0) + text.size();
  std::size_t part = place_of(hash);
  if (waiting_[part].used + bytes > (is_alone() ? bytes_alone : most_bytes_)) {
    count(part);
    part = place_of(hash);
  }
  if (options_.ids != nullptr) options_.ids->push_back(0);
  if (bytes > bytes_alone) {
    const Dictionary::Item item{text, hash, place};
    if (is_alone()) return count(own_, part, {&item, 1});
    const std::lock_guard guard(to_.locks_[part]);
    return count(to_.parts_[part], part, {&item, 1});
  }
  Waiting& waiting = waiting_[part];
  char* at = waiting.bytes.get() + waiting.used;
  const Head head{hash, static_cast<std::uint32_t>(text.size())};
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  if (with_places_) {
    std::memcpy(at, &place, sizeof place);
    at += sizeof place;
  }
  copy_text(text, at);
  waiting.used += bytes;
}

void CountedTexts::Writer::count(std::size_t place) {
  Waiting& waiting = waiting_[place];
  std::unique_lock<std::mutex> guard;
  if (!is_alone()) guard = std::unique_lock(to_.locks_[place]);
  Dictionary& texts = is_alone() ? own_ : to_.parts_[place];
  std::array<Dictionary::Item, counted_together> items;
  std::size_t some = 0;
  for (const char* at = waiting.bytes.get(); at != waiting.bytes.get() + waiting.used;) {
    Dictionary::Item& item = items[some++];
    Head head;
    std::memcpy(&head, at, sizeof head);
    at += sizeof head;
    if (with_places_) {
      std::memcpy(&item.place, at, sizeof item.place);
      at += sizeof item.place;
    }
    item.hash = head.hash;
    item.text = {at, head.size};
    at += head.size;
    if (some == items.size()) count(texts, place, std::span(items).first(std::exchange(some, 0)));
  }
  count(texts, place, std::span(items).first(some));
  waiting.used = 0;
  if (is_alone() && own_.size() > most_own) share();
}

void CountedTexts::Writer::count(Dictionary& texts, std::size_t place, std::span<const Dictionary::Item> items) {
  std::array<std::uint32_t, counted_together> ids;
  const std::uint32_t known = texts.size();
  texts.add(items, ids);
  for (std::uint32_t id = known; id < texts.size() && options_.look; ++id) options_.look(texts[id]);
  for (std::size_t i = 0; i < items.size() && options_.ids != nullptr; ++i)
    (*options_.ids)[items[i].place - options_.place] = is_alone() ? ids[i] : id_of(ids[i], place);
}

// From now on all threads count in the same parts.
void CountedTexts::Writer::share() {
  to_.taken_ -= own_.memory_bytes();
  std::vector<std::uint32_t> shared;
  for (std::uint32_t id = 0; id < own_.size(); ++id) shared.push_back(to_.add(own_.item(id), own_.count(id)));
  if (options_.ids != nullptr) {
    for (std::uint32_t& id : *options_.ids) id = shared[id];
  }
  own_ = Dictionary(to_.rules_);
  waiting_.clear();
  while (waiting_.size() < all_parts) waiting_.push_back({std::make_unique_for_overwrite<char[]>(most_bytes_), 0});
}

void CountedTexts::Writer::flush() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) count((first_part_ + i) % waiting_.size());
}

void CountedTexts::Writer::finish() {
  flush();
  if (is_alone()) share();
}

}  // namespace masu::io

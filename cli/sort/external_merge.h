// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs that lie in files.
#pragma once

#include "cli/sort/sort_job.h"
#include "io/reader.h"
#include "sort/sort_job.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {

// The stable merge of several sorted runs at once, by a tree of losers (Knuth, The Art of Computer Programming, volume
// 3, section 5.4.1): one comparison for each level of the tree and element.

// Finds the least of the keys of several players, and the next one after it is replaced, by one comparison a level. Of
// equal keys, tie(a, b) decides between players (less than 0: a wins), and then the lower number.
template <class Tie>
class LoserTree {
 public:
  LoserTree(std::size_t players, Tie tie)
      : tie_(tie), leaves_(std::bit_ceil(players < 1 ? std::size_t{1} : players)), nodes_(2 * leaves_) {}

  // Before build(): a player without a key is out.
  void set(std::size_t player, std::uint64_t key) {
    nodes_[leaves_ + player] = {key, static_cast<std::uint32_t>(player)};
  }
  void build() {
    std::vector<Entry> winners(nodes_);
    for (std::size_t i = leaves_ - 1; i >= 1; --i) {
      const bool left = before(winners[2 * i], winners[2 * i + 1]);
      winners[i] = winners[2 * i + (left ? 0 : 1)];
      nodes_[i] = winners[2 * i + (left ? 1 : 0)];
    }
    best_ = winners[1];
  }

  [[nodiscard]] bool empty() const noexcept { return best_.player == nobody; }
  [[nodiscard]] std::uint32_t winner() const noexcept { return best_.player; }
  // Gives the winner another key, or none.
  void replace(std::uint64_t key) { play({key, best_.player}, best_.player); }
  void drop() { play({}, best_.player); }

 private:
  static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    std::uint64_t key = std::numeric_limits<std::uint64_t>::max();
    std::uint32_t player = nobody;
  };
  [[nodiscard]] bool before(const Entry& a, const Entry& b) const noexcept {
    if (a.key != b.key) return a.key < b.key;
    const int decided = a.player == nobody || b.player == nobody ? 0 : tie_(a.player, b.player);
    return decided != 0 ? decided < 0 : a.player < b.player;
  }
  void play(Entry entry, std::uint32_t player) {
    for (std::size_t i = (leaves_ + player) / 2; i >= 1; i /= 2) {
      if (before(nodes_[i], entry)) std::swap(nodes_[i], entry);
    }
    best_ = entry;
  }

  Tie tie_;
  std::size_t leaves_;
  std::vector<Entry> nodes_;  // the losers at 1 … leaves - 1
  Entry best_;
};

// A part of a file that is read in blocks.
class BlockReader {
 public:
  BlockReader(const io::SpoolFile& file, std::size_t element, std::uint64_t first, std::uint64_t count,
              std::uint64_t block_bytes)
      : file_(file),
        element_(element),
        next_(first),
        left_(count),
        block_(std::clamp<std::uint64_t>(block_bytes / element, 1, std::max<std::uint64_t>(count, 1))),
        buffer_(std::make_unique_for_overwrite<std::byte[]>(block_ * element)) {
    refill();
  }
  // Elements that lie ready at data(); 0 at the end of the part.
  [[nodiscard]] std::uint64_t ready() const noexcept { return ready_; }
  [[nodiscard]] const std::byte* data() const noexcept { return at_; }
  // Goes on by one element, which is ready; true while there are more.
  bool next() {
    at_ += element_;
    return --ready_ != 0 || refill();
  }

 private:
  bool refill() {
    ready_ = std::min(block_, left_);
    if (ready_ == 0) return false;
    file_.read(buffer_.get(), ready_ * element_, next_ * element_);
    at_ = buffer_.get();
    next_ += ready_;
    left_ -= ready_;
    if (left_ > 0) file_.expect(std::min(block_, left_) * element_, next_ * element_);
    return true;
  }
  const io::SpoolFile& file_;
  std::size_t element_;
  std::uint64_t next_;   // the element to be read next
  std::uint64_t left_;   // that are not read yet
  std::uint64_t block_;  // elements
  std::unique_ptr<std::byte[]> buffer_;
  const std::byte* at_ = nullptr;
  std::uint64_t ready_ = 0;
};

// The texts of a run's records, which are read in blocks too.
class TextReader {
 public:
  TextReader(const io::SpoolFile& file, std::uint64_t first, std::uint64_t bytes, std::uint64_t block_bytes)
      : file_(file), next_(first), left_(bytes), block_(std::max<std::uint64_t>(block_bytes, 1)) {}
  // The next text; valid until the next call.
  const char* take(std::uint64_t bytes) {
    if (ready_ < bytes) refill(bytes);
    const char* text = buffer_.data() + (held_ - ready_);
    ready_ -= bytes;
    return text;
  }

 private:
  void refill(std::uint64_t bytes) {
    std::memmove(buffer_.data(), buffer_.data() + (held_ - ready_), ready_);
    held_ = std::min(std::max(bytes, block_), ready_ + left_);
    if (buffer_.size() < held_) buffer_.resize(held_);
    const std::uint64_t more = held_ - ready_;
    file_.read(buffer_.data() + ready_, more, next_);
    next_ += more;
    left_ -= more;
    ready_ = held_;
    if (left_ > 0) file_.expect(std::min(block_, left_), next_);
  }
  const io::SpoolFile& file_;
  std::uint64_t next_;  // the byte to be read next
  std::uint64_t left_;  // that are not read yet
  std::uint64_t block_;
  std::vector<char> buffer_;
  std::uint64_t held_ = 0;   // bytes of the buffer that are filled
  std::uint64_t ready_ = 0;  // the last of them, which were not taken
};

class ExternalMerge {
 public:
  struct Plan {
    RecordShape shape;
    Order order = Order::ascending;
    std::uint64_t run_bytes = 0;     // of buffers for each run
    std::uint64_t output_bytes = 0;  // of a block of the result
  };
  ExternalMerge(const Plan& plan, const io::SpoolFile& keys, const io::SpoolFile& payload, const io::SpoolFile& text)
      : plan_(plan), key_file_(keys), payload_file_(payload), text_file_(text) {
    block_ = std::max<std::uint64_t>(1, plan.output_bytes / (plan.shape.bytes() + sizeof(std::uint32_t)));
    sources_.resize(plan.shape.payload_bytes > 0 ? block_ : 0);
    payload_ = std::make_unique_for_overwrite<std::byte[]>(block_ * plan.shape.payload_bytes);
  }

  // Records in both files; of equal keys, those of the run that was added first come first.
  void add(std::uint64_t first, std::uint64_t count, std::uint64_t text_first, std::uint64_t text) {
    // Both columns of a run are read in blocks of as many records; texts get half of the memory.
    const std::uint64_t bytes = plan_.shape.text ? plan_.run_bytes / 2 : plan_.run_bytes;
    const std::uint64_t records = std::max<std::uint64_t>(1, bytes / plan_.shape.bytes());
    const std::size_t element = size_of(plan_.shape.keys);
    const std::size_t payload = plan_.shape.payload_bytes;
    keys_.emplace_back(key_file_, element, first, count, records * element);
    if (payload > 0) payloads_.emplace_back(payload_file_, payload, first, count, records * payload);
    if (plan_.shape.text) texts_.emplace_back(text_file_, text_first, text, bytes);
  }
  void run(const RecordSink& sink) {
    if (plan_.shape.text) return merge_texts(sink);
    dispatch(plan_.shape.keys, [&](auto tag) { merge_keys<typename decltype(tag)::type>(sink); });
  }

 private:
  template <class T>
  void merge_keys(const RecordSink& sink) {
    const auto key_of = [&](const BlockReader& reader) {
      T value;
      std::memcpy(&value, reader.data(), sizeof value);
      return std::uint64_t{sort_key(value, plan_.order)};
    };
    LoserTree tree(keys_.size(), [](std::uint32_t, std::uint32_t) { return 0; });
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].ready() > 0) tree.set(i, key_of(keys_[i]));
    }
    tree.build();
    std::vector<T> block(block_);
    const bool with_payload = plan_.shape.payload_bytes > 0;
    std::uint64_t count = 0;
    const auto flush = [&] {
      if (with_payload) collect_payload(count);
      sink({{plan_.shape.keys, block.data(), count}, payload_.get()});
      count = 0;
    };
    while (!tree.empty()) {
      const std::uint32_t from = tree.winner();
      BlockReader& reader = keys_[from];
      std::memcpy(&block[count], reader.data(), sizeof(T));
      if (with_payload) sources_[count] = from;
      if (reader.next()) tree.replace(key_of(reader));
      else tree.drop();
      if (++count == block_) flush();
    }
    if (count > 0) flush();
  }
  // Records with texts, which may decide, so that each run's next text is at hand.
  void merge_texts(const RecordSink& sink) {
    struct Text {
      TextSize size;
      const char* bytes = nullptr;
    };
    std::vector<Text> next(keys_.size());
    const auto tie = [&](std::uint32_t a, std::uint32_t b) {
      return std::string_view(next[a].bytes, next[a].size.key).compare({next[b].bytes, next[b].size.key});
    };
    const auto take = [&](std::size_t run) {
      std::uint64_t key = 0;
      std::memcpy(&key, keys_[run].data(), sizeof key);
      std::memcpy(&next[run].size, payloads_[run].data(), sizeof(TextSize));
      next[run].bytes = texts_[run].take(std::uint64_t{next[run].size.key} + next[run].size.line);
      return key;
    };
    LoserTree tree(keys_.size(), tie);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].ready() > 0) tree.set(i, take(i));
    }
    tree.build();
    std::vector<std::uint64_t> keys;
    std::vector<TextSize> sizes;
    std::string texts;
    const auto flush = [&] {
      sink({{Dtype::u64, keys.data(), keys.size()}, reinterpret_cast<const std::byte*>(sizes.data()), texts});
      keys.clear();
      sizes.clear();
      texts.clear();
    };
    while (!tree.empty()) {
      const std::uint32_t from = tree.winner();
      std::uint64_t key = 0;
      std::memcpy(&key, keys_[from].data(), sizeof key);
      keys.push_back(key);
      sizes.push_back(next[from].size);
      texts.append(next[from].bytes, std::uint64_t{sizes.back().key} + sizes.back().line);
      (void)payloads_[from].next();
      if (keys_[from].next()) tree.replace(take(from));
      else tree.drop();
      if (texts.size() + keys.size() * plan_.shape.bytes() >= plan_.output_bytes) flush();
    }
    if (!keys.empty()) flush();
  }
  // The payload goes after the keys: what came from where is known then.
  void collect_payload(std::uint64_t count) {
    const std::size_t bytes = plan_.shape.payload_bytes;
    const auto collect = [&](auto fixed) {
      for (std::uint64_t i = 0; i < count; ++i) {
        BlockReader& from = payloads_[sources_[i]];
        std::memcpy(payload_.get() + i * bytes, from.data(), fixed() > 0 ? fixed() : bytes);
        from.next();
      }
    };
    if (bytes == 8) collect([] { return std::size_t{8}; });
    else if (bytes == 4) collect([] { return std::size_t{4}; });
    else collect([] { return std::size_t{0}; });
  }

  Plan plan_;
  const io::SpoolFile& key_file_;
  const io::SpoolFile& payload_file_;
  const io::SpoolFile& text_file_;
  std::vector<BlockReader> keys_;
  std::vector<BlockReader> payloads_;
  std::vector<TextReader> texts_;
  std::uint64_t block_ = 0;               // records of a block of the result
  std::vector<std::uint32_t> sources_;    // which run each record of the block came from
  std::unique_ptr<std::byte[]> payload_;  // of the block
};

}  // namespace masu::cli

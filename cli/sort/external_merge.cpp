// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/external_merge.h"

#include "sort/sort_key.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

// Finds the least of the keys of several players, and the next one after it is replaced, by one comparison a level. Of
// equal keys, that of the player with the lower number wins.
class LoserTree {
 public:
  explicit LoserTree(std::size_t players)
      : leaves_(std::bit_ceil(players < 1 ? std::size_t{1} : players)), nodes_(2 * leaves_) {}

  // Before build(): a player without a key is out.
  void set(std::size_t player, std::uint64_t key) {
    nodes_[leaves_ + player] = {key, static_cast<std::uint32_t>(player)};
  }
  void build() {
    std::vector<Entry> winners(nodes_);
    for (std::size_t i = leaves_ - 1; i >= 1; --i) {
      const bool left = winners[2 * i].before(winners[2 * i + 1]);
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
    [[nodiscard]] bool before(const Entry& other) const noexcept {
      return key != other.key ? key < other.key : player < other.player;
    }
  };
  void play(Entry entry, std::uint32_t player) {
    for (std::size_t i = (leaves_ + player) / 2; i >= 1; i /= 2) {
      if (nodes_[i].before(entry)) std::swap(nodes_[i], entry);
    }
    best_ = entry;
  }

  std::size_t leaves_;
  std::vector<Entry> nodes_;  // the losers at 1 … leaves - 1
  Entry best_;
};

}  // namespace

BlockReader::BlockReader(const ExternalFile& file, std::size_t element, std::uint64_t first, std::uint64_t count,
                         std::uint64_t block_bytes)
    : file_(file),
      element_(element),
      next_(first),
      left_(count),
      block_(std::clamp<std::uint64_t>(block_bytes / element, 1, std::max<std::uint64_t>(count, 1))),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(block_ * element)) {
  refill();
}

bool BlockReader::refill() {
  ready_ = std::min(block_, left_);
  if (ready_ == 0) return false;
  file_.read(buffer_.get(), ready_ * element_, next_ * element_);
  at_ = buffer_.get();
  next_ += ready_;
  left_ -= ready_;
  if (left_ > 0) file_.expect(std::min(block_, left_) * element_, next_ * element_);
  return true;
}

ExternalMerge::ExternalMerge(const Plan& plan, const ExternalFile& keys, const ExternalFile& payload)
    : plan_(plan), key_file_(keys), payload_file_(payload) {
  block_ = std::max<std::uint64_t>(1, plan.output_bytes / (plan.shape.bytes() + sizeof(std::uint32_t)));
  sources_.resize(plan.shape.payload_bytes > 0 ? block_ : 0);
  payload_ = std::make_unique_for_overwrite<std::byte[]>(block_ * plan.shape.payload_bytes);
}

void ExternalMerge::add(std::uint64_t first, std::uint64_t count) {
  // Both columns of a run are read in blocks of as many records.
  const std::uint64_t records = std::max<std::uint64_t>(1, plan_.run_bytes / plan_.shape.bytes());
  const std::size_t element = size_of(plan_.shape.keys);
  const std::size_t payload = plan_.shape.payload_bytes;
  keys_.emplace_back(key_file_, element, first, count, records * element);
  if (payload > 0) payloads_.emplace_back(payload_file_, payload, first, count, records * payload);
}

// The payload goes behind the keys: what came from where is known then.
void ExternalMerge::collect_payload(std::uint64_t count) {
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

template <class T>
void ExternalMerge::merge_keys(const RecordSink& sink) {
  const auto key_of = [&](const BlockReader& reader) {
    T value;
    std::memcpy(&value, reader.data(), sizeof value);
    return std::uint64_t{sort_key(value, plan_.order)};
  };
  LoserTree tree(keys_.size());
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

void ExternalMerge::run(const RecordSink& sink) {
  dispatch(plan_.shape.keys, [&](auto tag) { merge_keys<typename decltype(tag)::type>(sink); });
}

}  // namespace masu::cli

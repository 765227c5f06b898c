// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace masu::cli {

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

}  // namespace masu::cli

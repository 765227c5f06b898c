// SPDX-License-Identifier: Apache-2.0
/// @file
/// One collective call: ranks that agree on what they do, errors of one rank that become errors of all, and results
/// that are merged along a tree. Part of mpi.h, which says what holds.
#pragma once

#include <masu/device.h>
#include <masu/error.h>
#include <masu/floating_point.h>
#include <masu/mpi/group.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::mpi {

/// Where a result is: on every rank, or on the rank with a number of 0 on. Others then have the result of no data; of
/// sums, extremes and quantiles an empty one, and a zero in place of a number.
inline constexpr int all_ranks = -1;

namespace detail {

inline void check_root(const Group& group, int root) {
  if (root >= all_ranks && root < group.size()) return;
  throw Error(ErrorCode::invalid_argument, "mpi: root must be all_ranks or 0 to " + std::to_string(group.size() - 1) +
                                               ", got " + std::to_string(root));
}

/// The text of a call, the same on every rank where the ranks agree: "sum(f32, result f64)".
class Text {
 public:
  explicit Text(std::string_view function) : text_(std::string(function) + "(") {}
  Text& with(std::string_view words) {
    if (text_.back() != '(') text_ += ", ";
    text_ += words;
    return *this;
  }
  Text& with(std::string_view name, std::string_view value) {
    return with(std::string(name) + " " + std::string(value));
  }
  Text& with(std::string_view name, std::uint64_t value) { return with(name, std::to_string(value)); }
  Text& with_root(int root) { return root == all_ranks ? *this : with("root", std::to_string(root)); }
  [[nodiscard]] std::string finish() const { return text_ + ")"; }

 private:
  std::string text_;
};

inline std::uint64_t hash_of(const void* data, std::size_t bytes, std::uint64_t hash = 0xcbf29ce484222325) {  // FNV-1a
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  return hash;
}

class Call {
 public:
  /// `text`: the call without its root. Where the making of it throws, or there is no such `root`, agree() reports
  /// that.
  template <class F>
  Call(MPI_Comm comm, int root, const F& text) : group_(comm) {
    attempt([&] {
      text_ = text().with_root(root).finish();
      check_root(group_, root);
    });
  }
  template <class F>
  Call(MPI_Comm comm, const F& text) : Call(comm, all_ranks, text) {}

  [[nodiscard]] const Group& group() const noexcept { return group_; }
  /// Whether this rank has the result.
  [[nodiscard]] bool is_at(int root) const noexcept { return root == all_ranks || root == group_.rank(); }

  /// Does this rank's work. What it throws is kept for the next agree(); after a failure no work is done.
  template <class F>
  void attempt(const F& work) {
    if (failure_) return;
    try {
      const FloatingPointScope usual;
      work();
    } catch (const Error& error) {
      fail(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      fail(ErrorCode::out_of_memory, "memory of the host ran out");
    } catch (const std::exception& error) {
      fail(ErrorCode::invalid_argument, error.what());
    } catch (...) {
      fail(ErrorCode::interrupted, "an exception that is no std::exception");
    }
  }

  /// Ends a phase: the same Error on every rank where a rank failed, or where the ranks do not do the same.
  void agree() {
    const std::uint64_t call = hash_of(text_.data(), text_.size());
    const auto nobody = static_cast<std::uint64_t>(group_.size());
    std::array<std::uint64_t, 3> words{call, ~call, failure_ ? static_cast<std::uint64_t>(group_.rank()) : nobody};
    group_.least(words);
    if (words[2] != nobody) throw_failure_of(static_cast<int>(words[2]));
    if (words[0] != ~words[1]) throw_difference();
  }

  /// The last phase: the result, made on every rank or on none. With a root, others have an empty one.
  template <class F>
  auto finish(const F& make, int root = all_ranks) {
    std::optional<decltype(make())> result;
    attempt([&] {
      if (is_at(root)) result.emplace(make());
      else result.emplace();
    });
    agree();
    return std::move(*result);
  }

  /// The accumulators of all ranks, whose states these are, merged in the order of the ranks: on every rank, or on
  /// `root` alone. What fails at the end may be kept for the next agree(): then there is none.
  template <class Accumulator>
  std::optional<Accumulator> combine_states(Bytes mine, int root = all_ranks) {
    std::optional<Device> cpu;
    attempt([&] { cpu = Device::open("cpu"); });
    std::optional<Accumulator> merged;
    std::array<Block, few_ranks> blocks;
    if (const std::span all = short_of_each(mine, blocks); !all.empty()) {
      attempt([&] {
        if (!is_at(root)) return;
        for (const Block& block : all) {
          Accumulator next =
              Accumulator::from_bytes(*cpu, std::span(block.data() + sizeof(std::uint64_t), length_in(block)));
          if (merged) merged->merge(next);
          else merged.emplace(std::move(next));
        }
      });
      return merged;
    }
    const Bytes all = combine(
        std::move(mine),
        [&](const Bytes& before, const Bytes& after) {
          Accumulator both = Accumulator::from_bytes(*cpu, before);
          both.merge(Accumulator::from_bytes(*cpu, after));
          return both.bytes();
        },
        root);
    attempt([&] {
      if (is_at(root)) merged.emplace(Accumulator::from_bytes(*cpu, all));
    });
    return merged;
  }
  /// The bytes of every rank, by rank. What fails at the end is kept for the next agree().
  std::vector<Bytes> from_each(const Bytes& mine) {
    Bytes block;
    attempt([&] {
      block.resize(sizeof(std::uint64_t) + mine.size());
      const std::uint64_t length = mine.size();
      std::memcpy(block.data(), &length, sizeof length);
      std::copy(mine.begin(), mine.end(), block.begin() + sizeof length);
    });
    const Bytes all = combine(std::move(block), [](Bytes before, const Bytes& after) {
      before.insert(before.end(), after.begin(), after.end());
      return before;
    });
    std::vector<Bytes> result;
    attempt([&] {
      for (auto at = all.begin(); at != all.end();) {
        std::uint64_t size = 0;
        std::memcpy(&size, &*at, sizeof size);
        at += sizeof size;
        result.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
        at += static_cast<std::ptrdiff_t>(size);
      }
    });
    return result;
  }

  /// The bytes of all ranks merged, in the order of the ranks: merge(before, after) joins those of neighbouring ranks.
  /// On every rank, or on `root` alone (the others get none).
  template <class F>
  Bytes combine(Bytes mine, const F& merge, int root = all_ranks) {
    const int rank = group_.rank();
    for (int step = 1; step < group_.size(); step *= 2) {
      if ((rank & step) != 0) {
        send(mine, rank - step);
        break;
      }
      if (rank + step < group_.size()) {
        const std::optional<Bytes> theirs = receive(rank + step);
        if (theirs) attempt([&] { mine = merge(std::move(mine), *theirs); });
      }
    }
    // With room for a block what comes down in one alone needs no memory, so no agreement.
    if (rank != 0 && root < 0) attempt([&] { mine.reserve(block_room); });
    // What came up the tree is at rank 0, failures too.
    agree();
    if (root > 0) {
      if (rank == 0) send(mine, root);
      if (rank == root) mine = receive(0).value_or(Bytes());
      agree();
    }
    if (root >= 0) return rank == root ? std::move(mine) : Bytes();
    Block block = block_of(mine);
    group_.broadcast(block.data(), block.size(), 0);
    const std::uint64_t length = length_in(block);
    if (rank != 0) attempt([&] { mine.resize(length); });
    if (length > block_room) {
      agree();
      group_.broadcast(mine.data() + block_room, length - block_room, 0);
    }
    if (rank != 0) std::memcpy(mine.data(), block.data() + sizeof length, std::min(length, block_room));
    return mine;
  }

 private:
  // The text of one rank, cut where it is very long. Needs no memory.
  static constexpr std::size_t most_letters = 2047;
  using Letters = std::array<char, most_letters + 1>;
  static Letters letters_of(std::string_view text) noexcept {
    Letters letters{};
    std::copy_n(text.begin(), std::min(text.size(), most_letters), letters.begin());
    return letters;
  }
  struct Failure {
    ErrorCode code;
    Letters text;
  };
  void fail(ErrorCode code, const char* text) noexcept { failure_ = Failure{code, letters_of(text)}; }
  // The first message of some bytes: their number, and as many of them as fit.
  static constexpr std::uint64_t block_room = 2040;
  using Block = std::array<std::byte, sizeof(std::uint64_t) + block_room>;
  static constexpr std::uint64_t failed = ~std::uint64_t{0};  // instead of the number
  static Block block_of(const Bytes& bytes) {
    Block block{};
    const std::uint64_t length = bytes.size();
    std::memcpy(block.data(), &length, sizeof length);
    if (length != 0) std::memcpy(block.data() + sizeof length, bytes.data(), std::min(length, block_room));
    return block;
  }
  static std::uint64_t length_in(const Block& block) {
    std::uint64_t length = 0;
    std::memcpy(&length, block.data(), sizeof length);
    return length;
  }

  // So many ranks send short bytes to each other: one step where the tree has one up, an agreement, and one down.
  static constexpr int few_ranks = 8;
  // The bytes of every rank, by rank, in `blocks`; none where there are more ranks or the bytes of one do not fit.
  std::span<const Block> short_of_each(const Bytes& mine, std::array<Block, few_ranks>& blocks) {
    if (group_.size() > few_ranks) return {};
    Block own = block_of(mine);
    if (failure_) std::memcpy(own.data(), &failed, sizeof failed);
    group_.block_from_each(own.data(), static_cast<int>(sizeof own), blocks.data());
    const std::span all(blocks.data(), static_cast<std::size_t>(group_.size()));
    if (std::ranges::any_of(all, [](const Block& block) { return length_in(block) == failed; })) agree();
    if (std::ranges::any_of(all, [](const Block& block) { return length_in(block) > block_room; })) return {};
    return all;
  }

  // To receive() of another rank, which takes what does not fit a block only where it has the memory.
  void send(const Bytes& bytes, int to) const {
    Block block = block_of(bytes);
    if (failure_) std::memcpy(block.data(), &failed, sizeof failed);
    const std::uint64_t length = length_in(block);
    const std::uint64_t held = failure_ ? 0 : std::min(length, block_room);
    group_.send_message(block.data(), static_cast<int>(sizeof length + held), to);
    if (failure_ || length <= block_room) return;
    char go = 0;
    group_.receive(&go, 1, to);
    if (go != 0) group_.send(bytes.data() + block_room, length - block_room, to);
  }
  // Nothing where one of the two failed, which agree() tells.
  std::optional<Bytes> receive(int from) {
    Block block{};
    group_.receive_message(block.data(), static_cast<int>(block.size()), from);
    const std::uint64_t length = length_in(block);
    if (length == failed) return std::nullopt;
    std::optional<Bytes> bytes;
    bool room = false;
    try {
      bytes.emplace(length);
      room = true;
    } catch (const std::bad_alloc&) {
      attempt([] { throw std::bad_alloc(); });
    }
    if (length > block_room) {
      const char go = room ? 1 : 0;
      group_.send(&go, 1, from);
      if (room) group_.receive(bytes->data() + block_room, length - block_room, from);
    }
    if (room && length != 0) std::memcpy(bytes->data(), block.data() + sizeof length, std::min(length, block_room));
    return bytes;
  }

  [[noreturn]] void throw_failure_of(int rank) const {
    auto code = static_cast<std::uint64_t>(failure_ ? failure_->code : ErrorCode::io);
    group_.broadcast(&code, sizeof code, rank);
    Letters text{};
    if (failure_) text = failure_->text;
    group_.broadcast(text.data(), text.size(), rank);
    throw Error(static_cast<ErrorCode>(code),
                group_.size() == 1 ? text.data() : "rank " + std::to_string(rank) + ": " + text.data());
  }

  [[noreturn]] void throw_difference() const {
    const Letters mine = letters_of(text_);
    Letters first = mine;
    group_.broadcast(first.data(), first.size(), 0);
    const auto nobody = static_cast<std::uint64_t>(group_.size());
    std::array<std::uint64_t, 1> differs{mine == first ? nobody : static_cast<std::uint64_t>(group_.rank())};
    group_.least(differs);
    Letters other = mine;
    if (differs[0] != nobody) group_.broadcast(other.data(), other.size(), static_cast<int>(differs[0]));
    const std::string same = std::string("mpi: every rank must make the same call, got ") + first.data();
    // Long texts may differ after the part that is sent.
    if (differs[0] == nobody) throw Error(ErrorCode::invalid_argument, same + " with other ends");
    throw Error(ErrorCode::invalid_argument,
                same + " on rank 0 and " + other.data() + " on rank " + std::to_string(differs[0]));
  }

  Group group_;
  std::string text_;
  std::optional<Failure> failure_;
};

}  // namespace detail

}  // namespace masu::mpi

// SPDX-License-Identifier: Apache-2.0
/// @file
/// Where the ranks' shares begin in data that each rank has sorted. Part of mpi.h, which says what holds.
#pragma once

#include <masu/buffer.h>
#include <masu/dtype.h>
#include <masu/mpi/call.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/stream.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace masu::mpi::detail {

/// The order of sort.h as unsigned integers, ordered keys, and the way back.
template <class T>
struct Keys {
  static constexpr unsigned bits = 8 * sizeof(T);
  static constexpr std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  static constexpr std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  static constexpr std::uint64_t infinity = ((std::uint64_t{1} << masu::detail::form_of(dtype_of<T>).exponent_bits) - 1)
                                            << masu::detail::form_of(dtype_of<T>).fraction_bits;

  /// A value whose place is after all elements whose ordered key (descending, its complement) is at most `key`; nothing
  /// if there is no such element.
  static std::optional<T> after(std::uint64_t key, Order order) {
    const bool descending = order == Order::descending;
    std::uint64_t stored = descending ? ~key & all : key;
    if constexpr (is_float(dtype_of<T>)) {
      // No element has a key between those of an infinity and of NaN, or below that of the other infinity.
      if (stored > sign + infinity) {
        stored = descending || stored == all ? infinity + 1 : infinity;
      } else if (stored >= sign) {
        stored -= sign;
      } else if (sign - stored > infinity) {
        if (!descending) return std::nullopt;
        stored = sign | infinity;
      } else {
        stored = sign | (sign - stored);
      }
    } else if constexpr (std::is_signed_v<T>) {
      stored ^= sign;
    }
    T value;
    std::memcpy(&value, &stored, sizeof value);
    return value;
  }
};

/// The shares, and the memory that finding them takes, all of it before the ranks send anything.
struct Shares {
  /// The key at the place where a share begins: its known digits, the local keys with them, the place among those of
  /// all.
  struct Border {
    std::uint64_t prefix = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::uint64_t place = 0;
  };

  Shares() = default;
  explicit Shares(std::size_t ranks)
      : digit_bits(ranks <= 4    ? 11
                   : ranks <= 64 ? 8
                                 : 4),
        counts(ranks),
        borders(ranks - 1),
        ends(borders.size() << digit_bits),
        table(ends.size()),
        before(borders.size()),
        cuts(ranks + 1),
        sent(ranks),
        received(ranks),
        runs(2 * ranks) {}

  /// With more ranks the tables of long digits would take longer to add than more rounds.
  unsigned digit_bits = 0;
  std::vector<std::uint64_t> counts;  ///< the keys of each rank, which are its share too
  std::vector<Border> borders;
  std::vector<std::uint64_t> ends;  ///< of the keys with each digit, for each border
  std::vector<std::uint64_t> table;
  std::vector<std::uint64_t> before;
  std::vector<std::uint64_t> cuts;  ///< where the shares begin in this rank's sorted keys, their number at the end
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> received;
  std::vector<std::uint64_t> runs;  ///< where the received pieces begin and end

  /// Where the piece from a rank begins.
  [[nodiscard]] std::uint64_t place(std::size_t rank) const noexcept { return runs[2 * rank]; }
};

/// Pieces that NCCL moves begin at elements with the same remainder by this on both sides: then bytes that are aligned
/// to 16 on one side are so on the other, which NCCL needs for its speed. A gap of at least as many elements lies
/// before each.
inline constexpr std::uint64_t piece_alignment = 16;
/// Elements that the gaps between the pieces of this number of ranks take at most.
constexpr std::uint64_t gaps_of(std::uint64_t ranks) {
  return 2 * piece_alignment * ranks;
}

/// Finds places in sorted keys, where they are.
template <class T>
class Places {
 public:
  Places(const BufferBase& sorted, Order order, std::size_t most)
      : sorted_(sorted),
        options_{.side = Side::right, .order = order},
        values_(most),
        values_there_(sorted.device(), most),
        positions_there_(sorted.device(), most),
        stream_(sorted.device(), Timing::off) {}

  /// at_most[i]: how many keys have an ordered key of at most keys[i]. keys has at most `most` elements.
  void find(std::span<const std::uint64_t> keys, std::span<std::uint64_t> at_most) {
    for (std::size_t i = 0; i < keys.size(); ++i) values_[i] = Keys<T>::after(keys[i], options_.order).value_or(T{});
    Buffer<T> values = values_there_.slice(0, keys.size());
    Buffer<std::uint64_t> positions = positions_there_.slice(0, keys.size());
    stream_.write(values, std::span<const T>(values_.data(), keys.size()));
    auto found = masu::searchsorted(stream_, sorted_, values, dtype_of<T>, positions, Dtype::u64, options_);
    stream_.read(positions, at_most);
    found.get();
    stream_.finish();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!Keys<T>::after(keys[i], options_.order)) at_most[i] = 0;
    }
  }

 private:
  const BufferBase& sorted_;
  SearchOptions options_;
  std::vector<T> values_;
  Buffer<T> values_there_;
  Buffer<std::uint64_t> positions_there_;
  Stream stream_;
};

/// Finds the shares of sorted keys from shares.counts; pieces are received one after the other, or with gaps. What
/// fails is kept for the next agree().
template <class T>
void find_shares(Call& call, const BufferBase& sorted, Order order, bool gaps, Shares& shares) {
  const Group& group = call.group();
  auto& [digit_bits, counts, borders, ends, table, before, cuts, sent, received, runs] = shares;
  const std::uint64_t count = sorted.size_bytes() / sizeof(T);
  std::optional<Places<T>> places;
  std::vector<std::uint64_t> keys;
  call.attempt([&] {
    keys.resize(shares.ends.size());
    places.emplace(sorted, order, shares.ends.size());
  });
  call.agree();
  std::uint64_t begin = 0;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    begin += counts[b];
    borders[b] = {0, 0, count, begin};
  }
  for (unsigned shift = Keys<T>::bits; shift != 0;) {
    const unsigned bits = std::min(shift, digit_bits);  // of the last digit fewer may be left
    shift -= bits;
    const std::size_t digits = std::size_t{1} << bits;
    const std::span values = std::span(keys).first(borders.size() * digits);
    const std::span numbers = std::span(table).first(values.size());
    const std::uint64_t rest = (std::uint64_t{1} << shift) - 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (borders[i / digits].prefix << bits | i % digits) << shift | rest;
    }
    call.attempt([&] { places->find(values, std::span(shares.ends).first(values.size())); });
    for (std::size_t i = 0; i < values.size(); ++i) {
      numbers[i] = ends[i] - (i % digits == 0 ? borders[i / digits].first : ends[i - 1]);
    }
    group.sum(numbers);
    for (std::size_t b = 0; b < borders.size(); ++b) {
      Shares::Border& border = borders[b];
      const std::span counted = numbers.subspan(b * digits, digits);
      std::size_t d = 0;
      while (d + 1 < digits && border.place >= counted[d]) border.place -= counted[d++];
      border.prefix = border.prefix << bits | d;
      border.end = ends[b * digits + d];
      if (d != 0) border.first = ends[b * digits + d - 1];
    }
  }
  // Equal keys go in the order of the ranks.
  for (std::size_t b = 0; b < borders.size(); ++b) before[b] = borders[b].end - borders[b].first;
  group.sum_before(before);
  cuts.front() = 0;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    const Shares::Border& border = borders[b];
    const std::uint64_t wanted = border.place - std::min(border.place, before[b]);
    cuts[b + 1] = border.first + std::min(wanted, border.end - border.first);
  }
  cuts.back() = count;
  // A piece's length, and where it begins in a line of piece_alignment elements, are one number.
  for (std::size_t r = 0; r < sent.size(); ++r) {
    sent[r] = (cuts[r + 1] - cuts[r]) * piece_alignment + cuts[r] % piece_alignment;
  }
  group.to_each(sent, received);
  std::uint64_t end = 0;
  for (std::size_t r = 0; r < sent.size(); ++r) {
    if (gaps) end += piece_alignment + (received[r] - end) % piece_alignment;
    sent[r] /= piece_alignment;
    received[r] /= piece_alignment;
    runs[2 * r] = end;
    end += received[r];
    runs[2 * r + 1] = end;
  }
}

}  // namespace masu::mpi::detail

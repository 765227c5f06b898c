// SPDX-License-Identifier: Apache-2.0
#include "histogram/bins/bin_estimator_state.h"

#include "elements/order.h"
#include "histogram/bins/bin_rule.h"
#include "runtime/interrupt.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

namespace masu {

namespace {

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 17;
constexpr std::uint64_t many_pieces = 8;  // fewer are not worth a thread's tables

template <class T>
void add_piece(const TallyPass& pass, const T* x, std::uint64_t count, Tally& tally) {
  const auto first = static_cast<KeyOf<T>>(pass.limits.first);
  const auto last = static_cast<KeyOf<T>>(pass.limits.last);
  const auto each = [&](const auto& add) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const KeyOf<T> key = ordered_key(x[i]);
      if (key >= first && key <= last) add(x[i], key);
    }
  };
  if (pass.extremes) {
    std::uint64_t n = 0;
    KeyOf<T> least = last;
    KeyOf<T> greatest = first;
    each([&](T, KeyOf<T> key) {
      ++n;
      least = std::min(least, key);
      greatest = std::max(greatest, key);
    });
    tally.n += n;
    if (n != 0) {
      tally.least = std::min<std::uint64_t>(tally.least, least);
      tally.greatest = std::max<std::uint64_t>(tally.greatest, greatest);
    }
  }
  if (pass.sum) each([&](T value, KeyOf<T>) { tally.sum.add(to_f64(value)); });
  const auto distance = [&](T value) { return (to_f64(value) - pass.mean) * pass.scale; };
  if (pass.squares) each([&](T value, KeyOf<T>) { tally.squares.add(distance(value) * distance(value)); });
  if (pass.cubes) {
    each([&](T value, KeyOf<T>) { tally.cubes.add(distance(value) * distance(value) * distance(value)); });
  }
  const std::uint64_t mask = (std::uint64_t{1} << pass.digit_bits) - 1;
  for (std::size_t p = 0; p < pass.prefixes.size(); ++p) {
    std::uint64_t* table = tally.digits.data() + (p << pass.digit_bits);
    const std::uint64_t prefix = pass.prefixes[p];
    each([&](T, std::uint64_t key) {
      const std::uint64_t front = key >> pass.shift;
      if (front >> pass.digit_bits == prefix) ++table[front & mask];
    });
  }
}

}  // namespace

KeyLimits finite_limits(Dtype dtype) {
  return dispatch(dtype, [](auto tag) -> KeyLimits {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      return {ordered_key(Half{0xfbff}), ordered_key(Half{0x7bff})};
    } else {
      return {ordered_key(std::numeric_limits<T>::lowest()), ordered_key(std::numeric_limits<T>::max())};
    }
  });
}

KeyLimits range_limits(Dtype dtype, const Bins& bins) {
  const BinRule rule(bins, dtype, false);
  return dispatch(dtype, [&](auto tag) -> KeyLimits {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Half>) {
      return {ordered_key(runtime::to_half(rule.edge(0))), ordered_key(runtime::to_half(rule.edge(rule.n)))};
    } else {
      const BinLimits<T> limits(rule);
      return {ordered_key(limits.first), ordered_key(limits.last), limits.all_below || limits.all_above};
    }
  });
}

void Tally::merge(const Tally& other) {
  n += other.n;
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  sum.merge(other.sum);
  squares.merge(other.squares);
  cubes.merge(other.cubes);
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] += other.digits[i];
}

void add_to_tally(const TallyPass& pass, const ArrayView& data, Tally& total) {
  if (pass.limits.none) return;
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    const std::uint64_t pieces = (data.count + piece_elements - 1) / piece_elements;
    const auto add = [&](std::uint64_t piece, Tally& to) {
      const std::uint64_t first = piece * piece_elements;
      add_piece(pass, x + first, std::min(piece_elements, data.count - first), to);
    };
    const unsigned threads = cpu_threads();
    if (threads == 1 || pieces < many_pieces) {
      for (std::uint64_t piece = 0; piece < pieces; ++piece) add(piece, total);
      return;
    }
    std::atomic<std::uint64_t> next = 0;
    std::mutex joining;
    runtime::parallel_tasks(std::min<std::uint64_t>(threads, pieces), [&](std::uint64_t) {
      Tally part(pass);
      for (std::uint64_t piece = next++; piece < pieces; piece = next++) {
        runtime::check_interrupted();
        add(piece, part);
      }
      const std::lock_guard lock(joining);
      total.merge(part);
    });
  });
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_cpu.h"

#include "elements/order.h"
#include "quantile/quantile_plan.h"
#include "runtime/interrupt.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace masu::cpu {

namespace {

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 17;
constexpr std::uint64_t many_pieces = 8;  // fewer are not worth a thread's tables

constexpr std::size_t block_elements = 1024;
template <class T>
using KeyBlock = std::array<KeyOf<T>, block_elements>;

// Keys, by a loop for the compiler to make vectors of.
template <class T>
void find_keys(const T* x, std::size_t count, KeyBlock<T>& keys) {
  for (std::size_t i = 0; i < count; ++i) keys[i] = ordered_key(x[i]);
}

// Calls f(keys, first, length) for each block of `count` elements.
template <class T, class F>
void for_blocks(const T* x, std::uint64_t count, const F& f) {
  KeyBlock<T> keys;
  for (std::uint64_t first = 0; first < count; first += block_elements) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - first));
    find_keys(x + first, length, keys);
    f(keys, first, length);
  }
}

std::uint64_t pieces_of(std::uint64_t count) {
  return (count + piece_elements - 1) / piece_elements;
}

template <class T>
void count_piece(const T* x, std::uint64_t count, const DigitPass& pass, std::uint64_t* tables) {
  const std::uint64_t mask = (std::uint64_t{1} << pass.width) - 1;
  if (pass.prefixes.size() == 1) {
    const std::uint64_t prefix = pass.prefixes[0];
    for_blocks(x, count, [&](const KeyBlock<T>& keys, std::uint64_t, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i) {
        const std::uint64_t front = std::uint64_t{keys[i]} >> pass.shift;
        if (front >> pass.width == prefix) ++tables[front & mask];
      }
    });
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t front = std::uint64_t{ordered_key(x[i])} >> pass.shift;
    const auto found = std::lower_bound(pass.prefixes.begin(), pass.prefixes.end(), front >> pass.width);
    if (found == pass.prefixes.end() || *found != front >> pass.width) continue;
    ++tables[static_cast<std::uint64_t>(found - pass.prefixes.begin()) << pass.width | (front & mask)];
  }
}

}  // namespace

void count_digits(const ArrayView& data, const DigitPass& pass, std::span<std::uint64_t> tables) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    const std::uint64_t pieces = pieces_of(data.count);
    const std::uint64_t threads = cpu_threads();
    const auto count = [&](std::uint64_t piece, std::uint64_t* to) {
      const std::uint64_t first = piece * piece_elements;
      count_piece(x + first, std::min(piece_elements, data.count - first), pass, to);
    };
    if (threads == 1 || pieces < many_pieces) {
      for (std::uint64_t piece = 0; piece < pieces; ++piece) count(piece, tables.data());
      return;
    }
    std::atomic<std::uint64_t> next = 0;
    std::mutex joining;
    runtime::parallel_tasks(std::min(threads, pieces), [&](std::uint64_t) {
      std::vector<std::uint64_t> own(tables.size());
      for (std::uint64_t piece = next++; piece < pieces; piece = next++) {
        runtime::check_interrupted();
        count(piece, own.data());
      }
      const std::lock_guard lock(joining);
      for (std::size_t i = 0; i < own.size(); ++i) tables[i] += own[i];
    });
  });
}

void collect_keys(const ArrayView& data, unsigned shift, std::span<const std::uint64_t> prefixes,
                  std::vector<std::uint64_t>& keys) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    std::mutex joining;
    runtime::parallel_tasks(pieces_of(data.count), [&](std::uint64_t piece) {
      const std::uint64_t first = piece * piece_elements;
      const std::uint64_t end = std::min(data.count, first + piece_elements);
      std::vector<std::uint64_t> found;
      for (std::uint64_t i = first; i < end; ++i) {
        const std::uint64_t one = ordered_key(x[i]);
        const bool wanted = prefixes.size() == 1 ? one >> shift == prefixes[0]
                                                 : std::binary_search(prefixes.begin(), prefixes.end(), one >> shift);
        if (wanted) found.push_back(one);
      }
      const std::lock_guard lock(joining);
      keys.insert(keys.end(), found.begin(), found.end());
    });
  });
}

}  // namespace masu::cpu

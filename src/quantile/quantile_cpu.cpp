// SPDX-License-Identifier: Apache-2.0
#include "quantile/quantile_cpu.h"

#include "quantile/quantile_plan.h"
#include "runtime/interrupt.h"
#include "runtime/parallel.h"
#include "topk/topk_rank.h"

#include <masu/device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace masu::cpu {

namespace {

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 17;
constexpr std::uint64_t many_pieces = 8;  // fewer are not worth a thread's tables

const Ranking& ascending(Dtype dtype) {
  static const Ranking integers(Dtype::u8, true, NanPolicy::last);
  static const Ranking floats(Dtype::f32, true, NanPolicy::last);
  return is_float(dtype) ? floats : integers;
}

constexpr std::size_t block_elements = 1024;
template <class T>
using KeyBlock = std::array<KeyOf<T>, block_elements>;

// The same keys, by a loop for the compiler to make vectors of.
template <class T>
void find_keys(const T* x, std::size_t count, KeyBlock<T>& keys) {
  for (std::size_t i = 0; i < count; ++i) {
    KeyOf<T> key = key_of(x[i]);
    if constexpr (is_float_type<T>) {
      const auto magnitude = static_cast<KeyOf<T>>(std::bit_cast<KeyOf<T>>(x[i]) & ~key_sign<T>);
      constexpr auto infinity = static_cast<KeyOf<T>>(infinity_key<T>() ^ key_sign<T>);
      key = magnitude > infinity ? static_cast<KeyOf<T>>(~KeyOf<T>{0}) : key;
    }
    keys[i] = key;
  }
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
  const Ranking& key = ascending(dtype_of<T>);
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
    const std::uint64_t front = std::uint64_t{key(x[i])} >> pass.shift;
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
    const Ranking& key = ascending(dtype_of<T>);
    std::mutex joining;
    runtime::parallel_tasks(pieces_of(data.count), [&](std::uint64_t piece) {
      const std::uint64_t first = piece * piece_elements;
      const std::uint64_t end = std::min(data.count, first + piece_elements);
      std::vector<std::uint64_t> found;
      for (std::uint64_t i = first; i < end; ++i) {
        const std::uint64_t one = key(x[i]);
        const bool wanted = prefixes.size() == 1 ? one >> shift == prefixes[0]
                                                 : std::binary_search(prefixes.begin(), prefixes.end(), one >> shift);
        if (wanted) found.push_back(one);
      }
      const std::lock_guard lock(joining);
      keys.insert(keys.end(), found.begin(), found.end());
    });
  });
}

std::vector<std::uint64_t> keys_of_rows(const ArrayView& data, std::uint64_t rows,
                                        std::span<const std::uint64_t> places) {
  std::vector<std::uint64_t> result(rows * places.size());
  const std::uint64_t count = data.count / rows;
  const std::uint64_t rows_a_task = std::max<std::uint64_t>(1, piece_elements / 4 / count);
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    const Ranking& key = ascending(dtype_of<T>);
    runtime::parallel_tasks((rows + rows_a_task - 1) / rows_a_task, [&](std::uint64_t task) {
      std::vector<KeyOf<T>> keys(count);
      const std::uint64_t end = std::min(rows, (task + 1) * rows_a_task);
      for (std::uint64_t row = task * rows_a_task; row < end; ++row) {
        for (std::uint64_t i = 0; i < count; ++i) keys[i] = key(x[row * count + i]);
        auto first = keys.begin();
        for (std::size_t p = 0; p < places.size(); ++p) {  // each parts what the one before has left
          const auto place = keys.begin() + static_cast<std::ptrdiff_t>(places[p]);
          std::nth_element(first, place, keys.end());
          result[row * places.size() + p] = *place;
          first = place;
        }
      }
    });
  });
  return result;
}

PartitionResult partition_by_key(const ArrayView& data, void* result, std::uint64_t wanted) {
  return dispatch(data.dtype, [&](auto tag) -> PartitionResult {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(data.data);
    T* to = static_cast<T*>(result);
    const auto pivot = static_cast<KeyOf<T>>(wanted);
    const std::uint64_t pieces = pieces_of(data.count);
    std::vector<PartitionResult> begins(pieces);
    const auto length_of = [&](std::uint64_t piece) {
      return std::min(piece_elements, data.count - piece * piece_elements);
    };
    runtime::parallel_tasks(pieces, [&](std::uint64_t piece) {
      PartitionResult here;
      for_blocks(x + piece * piece_elements, length_of(piece),
                 [&](const KeyBlock<T>& keys, std::uint64_t, std::size_t length) {
                   std::uint32_t less = 0;
                   std::uint32_t equal = 0;
                   for (std::size_t i = 0; i < length; ++i) {
                     less += static_cast<std::uint32_t>(keys[i] < pivot);
                     equal += static_cast<std::uint32_t>(keys[i] == pivot);
                   }
                   here.less += less;
                   here.equal += equal;
                 });
      begins[piece] = here;
    });
    PartitionResult all;
    for (PartitionResult& begin : begins) {
      const PartitionResult here = begin;
      begin = all;
      all.less += here.less;
      all.equal += here.equal;
    }
    runtime::parallel_tasks(pieces, [&](std::uint64_t piece) {
      const std::uint64_t first = piece * piece_elements;
      // Where the next less, equal and greater element goes; no branch depends on the data.
      std::array<T*, 3> next{to + begins[piece].less, to + all.less + begins[piece].equal,
                             to + all.less + all.equal + (first - begins[piece].less - begins[piece].equal)};
      for_blocks(x + first, length_of(piece), [&](const KeyBlock<T>& keys, std::uint64_t begin, std::size_t length) {
        std::array<std::uint8_t, block_elements> classes;
        for (std::size_t i = 0; i < length; ++i) {
          classes[i] = static_cast<std::uint8_t>(static_cast<unsigned>(keys[i] >= pivot) +
                                                 static_cast<unsigned>(keys[i] > pivot));
        }
        for (std::size_t i = 0; i < length; ++i) *next[classes[i]]++ = x[first + begin + i];
      });
    });
    return all;
  });
}

}  // namespace masu::cpu

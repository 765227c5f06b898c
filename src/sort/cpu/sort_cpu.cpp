// SPDX-License-Identifier: Apache-2.0

#include "sort/cpu/sort_cpu.h"

#include "runtime/progress.h"

#include <atomic>
#include <numeric>
#include <type_traits>

namespace masu {

namespace {

using cpu::Threads;

// Calls f(piece's first element, its length, threads) for every piece of two elements or more: long pieces one after
// another, so that all threads work on each, the others each by one thread.
void each_piece(const Pieces& pieces, runtime::Body<std::uint64_t, std::uint64_t, Threads> f) {
  if (pieces.segments.empty() && pieces.longest() <= 1) return;
  const std::uint64_t threads = cpu_threads();
  const auto call = [&](std::uint64_t piece, Threads used) {
    if (const std::uint64_t length = pieces.length(piece); length > 1) f(pieces.begin(piece), length, used);
  };
  if (pieces.size() == 1) return call(0, Threads::all);
  if (threads == 1) {
    for (std::uint64_t piece = 0; piece < pieces.size(); ++piece) call(piece, Threads::one);
    return;
  }
  const std::uint64_t large = std::max(pieces.count / (2 * threads), cpu::task_elements);
  std::vector<std::uint64_t> tasks = {0};  // the first piece of each task
  std::uint64_t elements = 0;
  for (std::uint64_t piece = 0; piece < pieces.size(); ++piece) {
    const std::uint64_t length = pieces.length(piece);
    if (length > large) {
      call(piece, Threads::all);
    } else if ((elements += length + 1) > cpu::task_elements) {
      elements = 0;
      tasks.push_back(piece + 1);
    }
  }
  if (tasks.back() != pieces.size()) tasks.push_back(pieces.size());
  runtime::parallel_tasks(tasks.size() - 1, [&](std::uint64_t task) {
    for (std::uint64_t piece = tasks[task]; piece < tasks[task + 1]; ++piece) {
      if (pieces.length(piece) <= large) call(piece, Threads::one);
    }
  });
}

constexpr std::uint64_t short_rows_at_once = 2048;  // elements

// Calls f(first, count) for rows that are worked on together, by tasks.
template <class F>
void blocks_of_rows(std::uint64_t rows, std::uint64_t length, const F& f) {
  const std::uint64_t rows_at_once = cpu::short_rows_in(short_rows_at_once, length);
  const std::uint64_t rows_a_task = cpu::short_rows_in(cpu::task_elements, length);
  runtime::parallel_tasks((rows + rows_a_task - 1) / rows_a_task, [&](std::uint64_t task) {
    const std::uint64_t end = std::min(rows, (task + 1) * rows_a_task);
    for (std::uint64_t first = task * rows_a_task; first < end; first += rows_at_once) {
      f(first, std::min(rows_at_once, end - first));
    }
    runtime::add_finished((end - task * rows_a_task) * length);
  });
}

// Rows too short for a call each: many at a time in the lanes of vectors, but those near elements whose order their
// bits do not tell.
template <class T>
void sort_wide_rows(T* x, std::uint64_t rows, std::uint64_t length, Order order) {
  blocks_of_rows(rows, length, [&](std::uint64_t first, std::uint64_t here) {
    T* const begin = x + first * length;
    if constexpr (std::is_floating_point_v<T>) {
      if (cpu::specials_of(begin, here * length).are_seen()) {
        for (std::uint64_t row = 0; row < here; ++row) {
          cpu::sort_keys(dtype_of<T>, begin + row * length, length, order, Threads::one);
        }
        return;
      }
    }
    cpu::short_row_loops<T>().sort(begin, here, length, begin);
    if (order == Order::ascending) return;
    for (std::uint64_t row = 0; row < here; ++row) std::reverse(begin + row * length, begin + (row + 1) * length);
  });
}

// Elements of 1 and 2 bytes as keys of 4. A key determines all bits of an integer; below the key of a float stands its
// index.
template <class T>
void sort_narrow_rows(cpu::Keys<T> key, T* x, std::uint64_t rows, std::uint64_t length) {
  constexpr bool by_place = is_float_type<T>;
  constexpr unsigned index_bits = by_place ? 16 : 0;
  blocks_of_rows(rows, length, [&](std::uint64_t first, std::uint64_t here) {
    T* const begin = x + first * length;
    const std::uint64_t count = here * length;
    const cpu::Scratch memory(count * (sizeof(std::uint32_t) + sizeof(T)));
    auto* const lanes = memory.as<std::uint32_t>();
    T* const before = memory.as<T>(count * sizeof(std::uint32_t));
    if constexpr (by_place) std::copy_n(begin, count, before);
    for (std::uint64_t i = 0; i < count; ++i) {
      lanes[i] = std::uint32_t{key(begin[i])} << index_bits | static_cast<std::uint32_t>(by_place ? i : 0);
    }
    cpu::short_row_loops<std::uint32_t>().sort(lanes, here, length, lanes);
    for (std::uint64_t i = 0; i < count; ++i) {
      if constexpr (by_place) begin[i] = before[lanes[i] & 0xffffU];
      else begin[i] = static_cast<T>(lanes[i] ^ key.flip);
    }
  });
}

// Whether all pieces are short rows.
bool short_rows_alone(const SortJob& job) {
  return job.pieces.segments.empty() && job.pieces.rows >= 2 &&
         cpu::are_short_rows(job.pieces.rows, job.pieces.longest());
}

constexpr std::uint64_t counted_from = 128;  // elements of a byte, whose values are rather counted

bool sort_as_short_rows(Dtype dtype, void* keys, const SortJob& job) {
  if (!short_rows_alone(job)) return false;
  const std::uint64_t length = job.pieces.longest();
  if (size_of(dtype) >= 4) {
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (cpu::is_wide<T>) sort_wide_rows(static_cast<T*>(keys), job.pieces.rows, length, job.order);
    });
    return true;
  }
  if (size_of(dtype) == 1 && length > counted_from) return false;
  cpu::with_keys(dtype, job.order, [&]<class T>(cpu::Keys<T> key) {
    if constexpr (!cpu::is_wide<T>) sort_narrow_rows(key, static_cast<T*>(keys), job.pieces.rows, length);
  });
  return true;
}

// Writes the indices that stand below the keys in `lanes`, in the bits of `mask`.
template <class Lane>
void write_order(const Lane* lanes, std::uint64_t count, Lane mask, cpu::Indices to) {
  to.typed([&]<class Index>(Index* indices) {
    for (std::uint64_t i = 0; i < count; ++i) indices[i] = static_cast<Index>(lanes[i] & mask);
  });
}

// Whether all rows are in order; then this is written.
bool write_as_they_are(const cpu::KeyRule& rule, const void* x, std::uint64_t rows, std::uint64_t length,
                       cpu::Indices to) {
  const auto* row = static_cast<const std::byte*>(x);
  for (std::uint64_t i = 0; i < rows; ++i, row += length * size_of(rule.dtype)) {
    if (!cpu::trend_of(rule, row, length).rising) return false;
  }
  to.typed([&]<class Index>(Index* indices) {
    for (std::uint64_t i = 0; i < rows; ++i, indices += length) std::iota(indices, indices + length, Index{0});
  });
  return true;
}

// Writes the orders of short rows: keys above the indices, which are sorted in the lanes of vectors. Of keys of 8 bytes
// those bits in which they differ, or as many of them as there is room for: what is alike then is ordered by the
// others.
template <class T>
void order_short_rows(cpu::Keys<T> key, const T* x, std::uint64_t rows, std::uint64_t length, const cpu::KeyRule& rule,
                      cpu::Indices indices) {
  using Lane = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::uint64_t>;
  constexpr unsigned lane_bits = 8 * sizeof(Lane);
  const auto index_bits = static_cast<unsigned>(std::bit_width(length - 1));
  blocks_of_rows(rows, length, [&](std::uint64_t first, std::uint64_t here) {
    const T* const begin = x + first * length;
    if (write_as_they_are(rule, begin, here, length, indices.at(first * length))) return;
    const std::uint64_t count = here * length;
    const cpu::Scratch memory(count * sizeof(Lane));
    Lane* const lanes = memory.as<Lane>();
    if constexpr (sizeof(T) == sizeof(Lane)) {
      cpu::key_numbers(key, begin, count, 0, lanes);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) lanes[i] = key(begin[i]);
    }
    Lane least = 0;
    unsigned dropped = 0;
    if constexpr (sizeof(T) == 8) {
      const auto [low, high] = std::minmax_element(lanes, lanes + count);
      const auto bits = static_cast<unsigned>(std::bit_width(*high - *low)) + index_bits;
      least = *low;
      dropped = bits > lane_bits ? bits - lane_bits : 0;
    }
    for (Lane* row = lanes; row != lanes + count; row += length) {
      for (std::uint64_t i = 0; i < length; ++i) {
        row[i] = (row[i] - least) >> dropped << index_bits | static_cast<Lane>(i);
      }
    }
    cpu::short_row_loops<Lane>().sort(lanes, here, length, lanes);
    const Lane mask = (Lane{1} << index_bits) - 1;
    write_order(lanes, count, mask, indices.at(first * length));
    if constexpr (sizeof(T) == 8) {
      if (dropped == 0) return;
      std::uint64_t pairs = 0;  // of neighbours that are alike
      for (std::uint64_t i = 1; i < count; ++i) pairs += (lanes[i] ^ lanes[i - 1]) <= mask ? 1 : 0;
      if (pairs == 0) return;
      for (std::uint64_t row = 0; row < count; row += length) {
        for (std::uint64_t i = row, end = row; i < row + length; i = end) {
          for (end = i + 1; end < row + length && (lanes[i] ^ lanes[end]) <= mask;) ++end;
          if (end - i == 1) continue;
          for (Lane* lane = lanes + i; lane != lanes + end; ++lane) {
            const Lane index = *lane & mask;
            *lane = ((key(begin[row + index]) - least) & ((Lane{1} << dropped) - 1)) << index_bits | index;
          }
          std::sort(lanes + i, lanes + end);
        }
      }
      write_order(lanes, count, mask, indices.at(first * length));
    }
  });
}

void write_ranked(const std::uint8_t* ranks, std::uint64_t rows, std::uint64_t length, cpu::Indices to) {
  to.typed([&]<class Index>(Index* indices) {
    for (const std::uint8_t* rank = ranks; rank != ranks + rows * length; rank += length) {
      for (std::uint64_t i = 0; i < length; ++i) indices[rank[i]] = static_cast<Index>(i);
      indices += length;
    }
  });
}

// The orders of shorter ones, by comparing each element with each.
template <class T>
void order_shorter_rows(const T* x, std::uint64_t rows, std::uint64_t length, Order order, cpu::Indices indices) {
  blocks_of_rows(rows, length, [&](std::uint64_t first, std::uint64_t here) {
    std::array<std::uint8_t, std::max(short_rows_at_once, cpu::lanes_most * cpu::ranked_row_most)> ranks;
    const T* const begin = x + first * length;
    const cpu::Indices to = indices.at(first * length);
    if (write_as_they_are({dtype_of<T>, order}, begin, here, length, to)) return;
    const bool descending = order == Order::descending;
    if constexpr (is_float_type<T>) {
      if (cpu::specials_of(begin, here * length).are_seen()) {
        const cpu::Keys<T> key{descending ? ~KeyOf<T>{0} : KeyOf<T>{0}};
        return order_short_rows(key, begin, here, length, {dtype_of<T>, order}, to);
      }
    }
    cpu::short_row_loops<T>().rank(begin, here, length, descending, ranks.data());
    write_ranked(ranks.data(), here, length, to);
  });
}

bool order_as_short_rows(const ArrayView& keys, MutableArrayView indices, const SortJob& job) {
  if (!short_rows_alone(job)) return false;
  const std::uint64_t length = job.pieces.longest();
  const std::uint64_t rows = job.pieces.rows;
  const cpu::Indices to{indices.data, size_of(indices.dtype)};
  if (length <= cpu::ranked_row_most && size_of(keys.dtype) >= 4) {
    dispatch(keys.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (cpu::is_wide<T>) order_shorter_rows(static_cast<const T*>(keys.data), rows, length, job.order, to);
    });
    return true;
  }
  cpu::with_keys(keys.dtype, job.order, [&]<class T>(cpu::Keys<T> key) {
    order_short_rows(key, static_cast<const T*>(keys.data), rows, length, {keys.dtype, job.order}, to);
  });
  return true;
}

}  // namespace

void sort_cpu(const ArrayView& data, void* result, const SortJob& job) {
  const std::size_t size = size_of(data.dtype);
  if (result != data.data && data.count != 0) cpu::copy_bytes(result, data.data, data.count * size, Threads::all);
  if (sort_as_short_rows(data.dtype, result, job)) return;
  each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length, Threads threads) {
    std::byte* const keys = static_cast<std::byte*>(result) + first * size;
    cpu::sort_keys(data.dtype, keys, length, job.order, threads);
  });
}

void sort_by_key_cpu(MutableArrayView keys, RecordsView values, const SortJob& job) {
  const std::size_t bytes = values.record_bytes;
  each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length, Threads threads) {
    std::byte* const piece = static_cast<std::byte*>(keys.data) + first * size_of(keys.dtype);
    std::byte* const records = static_cast<std::byte*>(values.data) + first * bytes;
    cpu::sort_pairs(keys.dtype, piece, records, bytes, length, job.order, threads);
  });
}

void argsort_cpu(const ArrayView& keys, MutableArrayView indices, const SortJob& job) {
  if (order_as_short_rows(keys, indices, job)) return;
  const cpu::Indices to{indices.data, size_of(indices.dtype)};
  // What no piece writes: outside of segments, and pieces of one element.
  const bool by_rows = job.pieces.segments.empty();
  const auto fill = [&]<class Index>(Index* places) {
    cpu::for_stripes(keys.count, cpu::stripes_of(keys.count, Threads::all),
                     [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
                       for (std::uint64_t i = first; i < last; ++i) places[i] = static_cast<Index>(by_rows ? 0 : i);
                     });
    if (by_rows) return;
    for (std::uint64_t piece = 0; piece < job.pieces.size(); ++piece) {
      if (job.pieces.length(piece) == 1) places[job.pieces.begin(piece)] = 0;
    }
  };
  if (!by_rows || job.pieces.longest() == 1) to.typed(fill);
  each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length, Threads threads) {
    const std::byte* const piece = static_cast<const std::byte*>(keys.data) + first * size_of(keys.dtype);
    cpu::sort_order(keys.dtype, piece, to.at(first), length, job.order, threads);
  });
}

bool is_sorted_cpu(const ArrayView& data, const SortJob& job) {
  std::atomic<bool> sorted = true;
  each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length, Threads threads) {
    if (!sorted) return;
    const std::byte* const piece = static_cast<const std::byte*>(data.data) + first * size_of(data.dtype);
    if (!cpu::trend_of({data.dtype, job.order}, piece, length, threads).rising) sorted = false;
  });
  return sorted;
}

}  // namespace masu

// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_cpu.h"

#include "sort/sort_key.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace masu {

namespace {

// Calls f(piece's first element, its length) for every piece.
template <class F>
void each_piece(const Pieces& pieces, F&& f) {
  for (std::uint64_t piece = 0; piece < pieces.size(); ++piece) f(pieces.begin(piece), pieces.length(piece));
}

template <class T>
std::vector<std::uint64_t> order_of(const T* keys, std::uint64_t count, Order order) {
  std::vector<std::uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::uint64_t{0});
  std::ranges::stable_sort(indices, {}, [&](std::uint64_t i) { return sort_key(keys[i], order); });
  return indices;
}

}  // namespace

void sort_cpu(const ArrayView& data, void* result, const SortJob& job) {
  if (data.count == 0) return;
  if (result != data.data) std::memcpy(result, data.data, data.count * size_of(data.dtype));
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length) {
      const std::span<T> piece(static_cast<T*>(result) + first, length);
      std::ranges::stable_sort(piece, {}, [&](T x) { return sort_key(x, job.order); });
    });
  });
}

void sort_by_key_cpu(MutableArrayView keys, RecordsView values, const SortJob& job) {
  dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length) {
      T* const piece = static_cast<T*>(keys.data) + first;
      std::byte* const records = static_cast<std::byte*>(values.data) + first * values.record_bytes;
      const std::vector<T> old_keys(piece, piece + length);
      const std::vector<std::byte> old_records(records, records + length * values.record_bytes);
      const std::vector<std::uint64_t> order = order_of(old_keys.data(), length, job.order);
      for (std::uint64_t i = 0; i < length; ++i) {
        piece[i] = old_keys[order[i]];
        std::memcpy(records + i * values.record_bytes, old_records.data() + order[i] * values.record_bytes,
                    values.record_bytes);
      }
    });
  });
}

void argsort_cpu(const ArrayView& keys, MutableArrayView indices, const SortJob& job) {
  const auto put = [&](std::uint64_t at, std::uint64_t index) {
    if (indices.dtype == Dtype::u64) static_cast<std::uint64_t*>(indices.data)[at] = index;
    else static_cast<std::uint32_t*>(indices.data)[at] = static_cast<std::uint32_t>(index);
  };
  if (!job.pieces.segments.empty()) {
    for (std::uint64_t i = 0; i < keys.count; ++i) put(i, i);
  }
  dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length) {
      const std::vector<std::uint64_t> order = order_of(static_cast<const T*>(keys.data) + first, length, job.order);
      for (std::uint64_t i = 0; i < length; ++i) put(first + i, order[i]);
    });
  });
}

bool is_sorted_cpu(const ArrayView& data, const SortJob& job) {
  return dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    bool sorted = true;
    each_piece(job.pieces, [&](std::uint64_t first, std::uint64_t length) {
      const std::span<const T> piece(static_cast<const T*>(data.data) + first, length);
      sorted = sorted && std::ranges::is_sorted(piece, {}, [&](T x) { return sort_key(x, job.order); });
    });
    return sorted;
  });
}

}  // namespace masu

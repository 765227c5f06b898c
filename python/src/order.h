// SPDX-License-Identifier: Apache-2.0
// Sorts, partitions and the k first of rows, as calls on arrays of any kind make them.
#pragma once

#include "arrays.h"
#include "sort/numpy_order.h"

#include <masu/buffer.h>
#include <masu/dtype.h>
#include <masu/quantile.h>
#include <masu/sort.h>
#include <masu/stream.h>
#include <masu/topk.h>

#include <cstddef>
#include <cstdint>

namespace masu_python {

inline masu::SortOptions sort_options(std::uint64_t rows, bool descending) {
  return {.order = descending ? masu::Order::descending : masu::Order::ascending, .rows = rows};
}

// On a stream: rows in order, or with `places` where their elements come from.
inline void sort_rows(masu::Stream& stream, const masu::Buffer<std::byte>& rows, masu::Dtype dtype,
                      masu::Buffer<std::byte>& result, const masu::SortOptions& options, bool places) {
  if (places) masu::argsort_nans_last(stream, rows, dtype, result, options);
  else masu::sort_nans_last(stream, rows, dtype, result, options);
}

// The same of one row that is parted around a place. `sizes`: two u64 for masu.
inline masu::Pending<void> part_row(masu::Stream& stream, const masu::Buffer<std::byte>& row, masu::Dtype dtype,
                                    const masu::PartitionTargets& to, std::uint64_t place, bool places) {
  return places ? masu::argpartition(stream, row, dtype, to, masu::Dtype::u64, place)
                : masu::partition(stream, row, dtype, to, place);
}

// Copies the k first of each row, and where they stand, to memory of the host; places have a dtype of 4 or 8 bytes.
void copy_first(const masu::TopkResult& found, std::uint64_t k, void* values, void* places,
                masu::Dtype dtype = masu::Dtype::i64);

}  // namespace masu_python

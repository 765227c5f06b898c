// SPDX-License-Identifier: Apache-2.0
// A top-k of many rows of few elements: a work-item takes a row, and goes through it for each result. topk_select.cl
// stands in front of this file.

// The NaNs of each row that were skipped go to `nans`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_short(TOPK_DATA, const uint rows, __global uchar *nans,
                                                     const ulong nans_at, TOPK_RESULT) {
  for (size_t row = get_global_id(0); row < rows; row += get_global_size(0)) {
    __global const uchar *bytes = data + byte_offset + row * count * MASU_ELEMENT_BYTES;
    const uint length = TOPK_LENGTH(row);
    // Taken are the elements above this rank, and those of it before an index.
    MASU_BITS last = MASU_ALL_BITS;
    uint next = 0;
    uint skipped = 0;
    for (uint i = 0; i < k; ++i) {
      MASU_BITS best = 0;
      uint place = TOPK_NO_INDEX;
      skipped = 0;
      for (uint e = 0; e < length; ++e) {
        const MASU_BITS rank = rank_of(element_at(bytes, e));
        if (is_skipped(key_of_entry(rank, e))) ++skipped;
        const bool left = rank < last || (rank == last && e >= next);
        if (left && (place == TOPK_NO_INDEX || rank > best)) {
          best = rank;
          place = e;
        }
      }
      set_result(bytes, key_of_entry(best, place), place, row * k + i, TOPK_RESULT_ARGUMENTS);
      last = best;
      next = min(place, length) + 1;
    }
    ((__global uint *)(nans + nans_at))[row] = skipped;
  }
}

// SPDX-License-Identifier: Apache-2.0
// A top-k of short rows: a work-group takes as many whole rows at a time as a tile has room for, and each work-item counts
// how many entries of a row come before its own: that is its place in the result. topk_rank.cl and topk_select.cl stand in
// front of this file. MASU_TILE, given by topk_plan.cpp: elements of a tile, at least those of a row.

// `count` elements a row. The NaNs of each that were skipped go to `nans`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_short_rows(MASU_DATA, const uint rows, __global uchar *nans,
                                                          const ulong nans_at, MASU_RESULT, __local ulong *keys) {
  MASU_LOCAL_POINTER(ulong, keys);
  const uint lane = (uint)get_local_id(0);
  const uint rows_a_tile = MASU_TILE / count;
  const size_t step = get_num_groups(0) * (size_t)rows_a_tile;
  for (size_t first = get_group_id(0) * (size_t)rows_a_tile; first < rows; first += step) {
    const uint rows_here = (uint)min((size_t)rows_a_tile, rows - first);
    const uint entries = rows_here * count;
    __global const uchar *bytes = data + byte_offset + first * count * MASU_ELEMENT_BYTES;
    for (uint i = lane; i < entries; i += MASU_GROUP) keys[i] = key_of_entry(rank_of(element_at(bytes, i)), i % count);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lane; i < entries; i += MASU_GROUP) {
      const uint row = i / count;
      const uint begin = row * count;
      const ulong key = keys[i];
      uint place = 0;
      for (uint j = begin; j < begin + count; ++j) {
#if MASU_PAIRS
        place += keys[j] > key || (keys[j] == key && j < i) ? 1 : 0;
#else
        place += keys[j] > key ? 1 : 0;
#endif
      }
      if (place < k) {
        set_result(bytes + (size_t)begin * MASU_ELEMENT_BYTES, key, i - begin, (first + row) * k + place,
                   MASU_RESULT_ARGUMENTS);
      }
    }
    for (uint row = lane; MASU_SKIP && row < rows_here; row += MASU_GROUP) {
      uint skipped = 0;
      for (uint j = row * count; j < (row + 1) * count; ++j) skipped += is_skipped(keys[j]) ? 1 : 0;
      ((__global uint *)(nans + nans_at))[first + row] = skipped;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Scans in three launches, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). Behind scan_tile.cl. No
// work-group waits for another.
//
// A chunk is the tiles that one work-group takes, one after the other. First every chunk's total is found, then the
// totals are scanned, then every chunk is scanned from what lies in front of it.

// The chunks' totals: pairs of words. `count` elements, `chunk` tiles a work-group.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void scan_chunks(__global const uchar *restrict memory, const ulong memory_at,
                                                          MASU_CHUNK_PARAMETERS,
                                                          __global uchar *total_memory, const ulong totals_at,
                                                          __local uint4 *tile, __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  __global const uchar *data = memory + memory_at;
  const ulong end = min(count, (get_group_id(0) + 1) * chunk * MASU_TILE);
  Total sum = nothing();
  Total all;
  ulong first = get_group_id(0) * chunk * MASU_TILE;
#if !MASU_SEGMENTED && !MASU_FLOAT
  // In any order: each work-item takes whole vectors.
  if (is_aligned(data)) {
    for (; first + MASU_TILE <= end; first += MASU_TILE) {
      uint words[MASU_ITEM_WORDS];
      load_words(data, first, words);
      sum = joined(sum, total_of(words, 0));
    }
    total_before(sum, &all, totals);
    sum = all;
  }
#endif
  for (; first < end; first += MASU_TILE) {
    load_tile(data, first, end, tile);
    uint words[MASU_ITEM_WORDS];
    load_item(tile, words);
    const ulong own = first + lane * MASU_ITEMS;
    total_before(total_of(words, heads_of(own, end, row, flag_memory + flags_at, has_flags)), &all, totals);
    sum = joined(sum, all);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    __global ulong *result = (__global ulong *)(total_memory + totals_at) + 2 * get_group_id(0);
    result[0] = sum.value;
    result[1] = sum.reset;
  }
}

// One work-group: each chunk's total becomes that of all in front of it, from `state` on; behind the last stands that
// of all.
__kernel MASU_WORK_GROUP(MASU_GROUP) void scan_totals(const ulong chunks, const ulong state,
                                                      __global uchar *total_memory, const ulong totals_at,
                                                      __local ulong *totals) {
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  __global ulong *result = (__global ulong *)(total_memory + totals_at);
  Total sum = nothing();
  sum.value = (MASU_BITS)state;
  for (ulong first = 0; first < chunks; first += MASU_GROUP) {
    const ulong i = first + lane;
    Total own = nothing();
    if (i < chunks) {
      own.value = (MASU_BITS)result[2 * i];
      own.reset = (uint)result[2 * i + 1];
    }
    Total all;
    const Total before = joined(sum, total_before(own, &all, totals));
    if (i < chunks) {
      result[2 * i] = before.value;
      result[2 * i + 1] = before.reset;
    }
    sum = joined(sum, all);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    result[2 * chunks] = sum.value;
    result[2 * chunks + 1] = sum.reset;
  }
}

// Scans the chunks; input and output may be the same memory.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void scan_tiles(__global const uchar *memory, const ulong memory_at,
                                                         __global uchar *output_memory, const ulong output_at,
                                                         MASU_CHUNK_PARAMETERS,
                                                         __global const uchar *restrict total_memory,
                                                         const ulong totals_at, __local uint4 *tile,
                                                         __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  __global const ulong *before = (__global const ulong *)(total_memory + totals_at) + 2 * get_group_id(0);
  Total sum = nothing();
  sum.value = (MASU_BITS)before[0];
  const ulong end = min(count, (get_group_id(0) + 1) * chunk * MASU_TILE);
  for (ulong first = get_group_id(0) * chunk * MASU_TILE; first < end; first += MASU_TILE) {
    load_tile(memory + memory_at, first, end, tile);
    uint words[MASU_ITEM_WORDS];
    load_item(tile, words);
    const ulong own = first + lane * MASU_ITEMS;
    const uint heads = heads_of(own, end, row, flag_memory + flags_at, has_flags);
    Total all;
    const MASU_BITS running = joined(sum, total_before(total_of(words, heads), &all, totals)).value;
    sum = joined(sum, all);
    scan_item(words, heads, running);
    store_item(tile, words);
    store_tile(output_memory + output_at, first, end, tile);
  }
}

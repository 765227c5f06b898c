// SPDX-License-Identifier: Apache-2.0
// Scans in two launches, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After scan_tile.cl. No
// work-group waits for another.
//
// A chunk is what one work-group takes, tile after tile. First every chunk's total is found; then every work-group joins
// the totals of the chunks before its own, and scans its chunk from there. Chunks of whole rows need no totals.

// The chunks' totals: pairs of words.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void scan_chunks(__global const uchar *restrict memory, const ulong memory_at,
                                                          SCAN_CHUNK_PARAMETERS,
                                                          __global uchar *total_memory, const ulong totals_at,
                                                          __local uint4 *tile, __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  __global const uchar *data = memory + memory_at;
  const ulong end = min(count, (get_group_id(0) + 1) * chunk);
  Total sum = nothing();
  Total all;
  ulong first = get_group_id(0) * chunk;
#if !MASU_SEGMENTED && !MASU_FLOAT
  // In any order: each work-item takes whole vectors.
  if (input_is_aligned(data)) {
    for (; first + SCAN_TILE <= end; first += SCAN_TILE) {
      uint words[SCAN_ITEM_WORDS];
      load_words(data, first, words);
      sum = joined(sum, total_of(words, 0));
    }
    total_before(sum, &all, totals);
    sum = all;
  }
#endif
  for (; first < end; first += SCAN_TILE) {
    load_tile(data, first, end, row, columns, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint words[SCAN_ITEM_WORDS];
    load_item(tile, words);
    const ulong own = first + lane * SCAN_ITEMS;
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

// The total of chunk `number`; the identity from chunk `end` on.
inline void get_chunk_total(__global const ulong *chunk_totals, const ulong number, const ulong end, Total *total) {
  *total = nothing();
  if (number < end) {
    total->value = (MASU_BITS)chunk_totals[2 * number];
    total->reset = (uint)chunk_totals[2 * number + 1];
  }
}

// Scans the chunks from `state` on, and writes the total of all after those of the chunks; input and output may be the
// same memory. has_totals: whether there are totals, and not one chunk alone or chunks of whole rows.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void scan_tiles(__global const uchar *memory, const ulong memory_at,
                                                         __global uchar *output_memory, const ulong output_at,
                                                         SCAN_CHUNK_PARAMETERS,
                                                         const ulong state, __global uchar *total_memory,
                                                         const ulong totals_at, const uint has_totals, __local uint4 *tile,
                                                         __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  const ulong chunks_before = has_totals != 0 ? get_group_id(0) : 0;
  __global ulong *chunk_totals = (__global ulong *)(total_memory + totals_at);
  Total sum = nothing();
  sum.value = (MASU_BITS)state;
  Total all;
  // Loaded beside the first tile.
  ulong joined_chunks = 0;
  Total other;
  get_chunk_total(chunk_totals, lane, chunks_before, &other);
  const ulong end = min(count, (get_group_id(0) + 1) * chunk);
  for (ulong first = get_group_id(0) * chunk; first < end; first += SCAN_TILE) {
    load_tile(memory + memory_at, first, end, row, columns, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; joined_chunks < chunks_before; joined_chunks += MASU_GROUP) {  // for the first tile
      total_before(other, &all, totals);
      sum = joined(sum, all);
      get_chunk_total(chunk_totals, joined_chunks + MASU_GROUP + lane, chunks_before, &other);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint words[SCAN_ITEM_WORDS];
    load_item(tile, words);
    const ulong own = first + lane * SCAN_ITEMS;
    const uint heads = heads_of(own, end, row, flag_memory + flags_at, has_flags);
    const MASU_BITS running = joined(sum, total_before(total_of(words, heads), &all, totals)).value;
    sum = joined(sum, all);
    scan_item(words, heads, running);
    store_item(tile, words);
    barrier(CLK_LOCAL_MEM_FENCE);
    store_tile(output_memory + output_at, first, end, row, columns, tile);
  }
  if (lane == 0 && chunks_before + 1 == get_num_groups(0)) {
    chunk_totals[2 * get_num_groups(0)] = sum.value;
    chunk_totals[2 * get_num_groups(0) + 1] = sum.reset;
  }
}

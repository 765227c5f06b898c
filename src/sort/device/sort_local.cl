// SPDX-License-Identifier: Apache-2.0
// Radix sort of pieces that fit a tile, each by one work-group in one launch, in OpenCL C 1.2 (and, after the CUDA
// prelude, in CUDA C++). sort_key.cl and sort_rank.cl stand in front of this file; see there how keys are ranked.
//
// kernels.md has the parameters, which sort_plan.cpp gives.

// `sorted` may be `keys_from`, and `moved` may be `values`.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void sort_local(
    __global const uchar *keys_from, const ulong keys_at, __global uchar *sorted, const ulong sorted_at,
#if MASU_PAYLOAD_BYTES > 0
    __global const uchar *values, const ulong values_at, __global uchar *moved, const ulong moved_at,
#endif
    __global const uchar *restrict tables, const ulong pieces_at, const uint length, const uint flip,
    const uint flags,
    __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const counters = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
#if MASU_PIECES
  __global const ulong *const piece = (__global const ulong *)(tables + pieces_at) + 2 * get_group_id(0);
  const size_t first = piece[0];
  const uint size = (uint)piece[1];
#else
  const size_t first = get_group_id(0) * length;
  const uint size = length;
#endif
  __local uint *const partial = counters + MASU_STAGING_WORDS;
  __local MASU_ELEMENT *const staging = (__local MASU_ELEMENT *)counters;
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys_from + keys_at) + first;
  const uint own = lid % MASU_COLUMNS * (SORT_ROWS * MASU_ITEMS) + lid / MASU_COLUMNS * MASU_ITEMS;
  MASU_ELEMENT keys[MASU_ITEMS];
  uint ranks[MASU_ITEMS];
#if MASU_PAYLOAD_BYTES > 0
  ushort places[MASU_ITEMS];  // that the keys had
  __local ushort *const staged_places = (__local ushort *)counters;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) places[i] = (ushort)(own + i);
#endif
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    staging[SORT_PADDED(place)] = place < size ? from[place] : 0;
  }
  for (uint shift = 0; shift < MASU_KEY_BITS; shift += 8) {
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) keys[i] = staging[SORT_PADDED(own + i)];
    barrier(CLK_LOCAL_MEM_FENCE);
    rank_keys(keys, shift, flip, own, size, ranks, counters, partial, lid);
    barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_PAYLOAD_BYTES > 0
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) staged_places[SORT_PADDED(ranks[i])] = places[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) places[i] = staged_places[SORT_PADDED(own + i)];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) staging[SORT_PADDED(ranks[i])] = keys[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + first;
  if ((flags & SORT_FLAG_DROP_KEYS) == 0) {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = i * MASU_GROUP + lid;
      if (place < size) to[place] = staging[SORT_PADDED(place)];
    }
  }

#if MASU_PAYLOAD_BYTES > 0
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) staged_places[SORT_PADDED(own + i)] = places[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  __global MASU_VALUE *const moved_to = (__global MASU_VALUE *)(moved + moved_at) + first;
#if MASU_PAYLOAD_BYTES == 4 || MASU_PAYLOAD_BYTES == 8
  if ((flags & SORT_FLAG_INDICES) != 0) {
    const size_t start = (flags & SORT_FLAG_WHOLE) != 0 ? first : 0;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = i * MASU_GROUP + lid;
      if (place < size) moved_to[place] = (MASU_VALUE)(start + staged_places[SORT_PADDED(place)]);
    }
    return;
  }
#endif
  __global const MASU_VALUE *const values_from = (__global const MASU_VALUE *)(values + values_at) + first;
  MASU_VALUE held[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    held[i] = values_from[place < size ? staged_places[SORT_PADDED(place)] : 0];
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // all are read before one is written
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) moved_to[place] = held[i];
  }
#endif
}

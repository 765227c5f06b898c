// SPDX-License-Identifier: Apache-2.0
// Records whose flag is not 0, in their order, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): count them by
// tiles, add up the counts, move them.
//
// Behind group_scan.cl. kernels.md has the parameters, which gather_device.cpp gives.

#define GATHER_TILE (MASU_GROUP * MASU_ITEMS)

// counts[t]: the flags of tile t that are not 0.
__kernel MASU_WORK_GROUP(MASU_GROUP) void compact_count(__global const uchar *restrict flag_memory, const ulong flag_at,
                                                        const ulong count, __global uchar *restrict note_memory,
                                                        const ulong count_at, __local uint *sum) {
  MASU_LOCAL_POINTER(uint, sum);  // 1
  __global const uchar *flags = flag_memory + flag_at;
  __global uint *counts = (__global uint *)(note_memory + count_at);
  const ulong tiles = (count + GATHER_TILE - 1) / GATHER_TILE;
  for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    if (get_local_id(0) == 0) *sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint mine = 0;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_ITEMS; ++k) {
      const ulong i = tile * GATHER_TILE + k * MASU_GROUP + get_local_id(0);
      if (i < count) mine += flags[i] != 0;
    }
    if (mine != 0) atomic_add(sum, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) counts[tile] = *sum;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// offsets[t]: the counts of the tiles in front of t; the sum of all is in front of the offsets, and in *number, which may
// be the same. One work-group.
__kernel MASU_WORK_GROUP(MASU_GROUP) void compact_offsets(__global uchar *note_memory, const ulong note_at,
                                                          const ulong count_at, const ulong tiles,
                                                          __global uchar *number_memory, const ulong number_at,
                                                          __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);  // MASU_GROUP
  __global ulong *total = (__global ulong *)(note_memory + note_at);
  __global const uint *counts = (__global const uint *)(note_memory + count_at);
  ulong before = 0;
  for (ulong first = 0; first < tiles; first += GATHER_TILE) {
    const ulong mine = first + get_local_id(0) * MASU_ITEMS;
    uint sum = 0;
    for (uint k = 0; k < MASU_ITEMS; ++k) sum += mine + k < tiles ? counts[mine + k] : 0;
    uint all;
    ulong offset = before + group_scan(sum, MASU_GROUP, sums, (uint)get_local_id(0), &all) - sum;
    for (uint k = 0; k < MASU_ITEMS && mine + k < tiles; ++k) {
      total[1 + mine + k] = offset;
      offset += counts[mine + k];
    }
    before += all;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (get_local_id(0) == 0) {
    *total = before;
    *(__global ulong *)(number_memory + number_at) = before;
  }
}

// Moves the records of each tile after those of the tiles before it; does nothing if they are more than `room`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void compact_move(__global const uchar *restrict record_memory,
                                                       const ulong record_at, __global const uchar *restrict flag_memory,
                                                       const ulong flag_at, __global uchar *restrict out_memory,
                                                       const ulong out_at, const ulong count, const ulong room,
                                                       __global const uchar *restrict note_memory, const ulong note_at,
                                                       __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);  // MASU_GROUP, and GATHER_TILE / 2 for the list
  __local ushort *list = (__local ushort *)(sums + MASU_GROUP);
  __global const ulong *total = (__global const ulong *)(note_memory + note_at);
  if (*total > room) return;
  __global const MASU_UNIT *records = (__global const MASU_UNIT *)(record_memory + record_at);
  __global MASU_UNIT *out = (__global MASU_UNIT *)(out_memory + out_at);
  __global const uchar *flags = flag_memory + flag_at;
  const uint lane = (uint)get_local_id(0);
  const ulong tiles = (count + GATHER_TILE - 1) / GATHER_TILE;
  for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    const ulong begin = tile * GATHER_TILE;
    // The flags by all, then each work-item's own.
    for (uint k = 0; k < MASU_ITEMS; ++k) {
      const uint i = k * MASU_GROUP + lane;
      list[i] = begin + i < count && flags[begin + i] != 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint set = 0;  // a bit for each
    for (uint k = 0; k < MASU_ITEMS; ++k) set |= (uint)list[lane * MASU_ITEMS + k] << k;
    uint all;
    uint place = group_scan(popcount(set), MASU_GROUP, sums, lane, &all) - popcount(set);
    for (uint k = 0; k < MASU_ITEMS; ++k) {
      if ((set >> k & 1) != 0) list[place++] = (ushort)(lane * MASU_ITEMS + k);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong first = total[1 + tile] * MASU_UNITS;
    for (uint u = lane; u < all * MASU_UNITS; u += MASU_GROUP) {
      const uint i = u / MASU_UNITS;
      out[first + u] = records[(begin + list[i]) * MASU_UNITS + (u - i * MASU_UNITS)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

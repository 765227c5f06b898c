// SPDX-License-Identifier: Apache-2.0
// The stable partition around a key, in three steps, and elements at given places of sorted rows. Behind elements.cl,
// order.cl and group_scan.cl. Defines beside those of them, given by quantile_plan.h:
// - MASU_GROUP          work-items in a work-group
// - MASU_ITEM_ELEMENTS  elements that a work-item takes, one behind the other

#define MASU_TILE (MASU_GROUP * MASU_ITEM_ELEMENTS)
// What a work-item has counted of its elements, and a group: those that are less in the low half, equal ones above.
#define MASU_LESS 1u
#define MASU_EQUAL 0x10000u

inline uint class_of(const ulong key, const ulong wanted) {
  return key < wanted ? MASU_LESS : key == wanted ? MASU_EQUAL : 0u;
}

// How many elements of each tile are less, and equal: `counts` has two 64-bit numbers for each.
__kernel MASU_WORK_GROUP(MASU_GROUP) void quantile_count(__global const uchar *data, const ulong byte_offset,
                                                         const ulong count, const ulong wanted, __global uchar *work,
                                                         const ulong counts_at, __local uint *found) {
  MASU_LOCAL_POINTER(uint, found);
  __global ulong *counts = (__global ulong *)(work + counts_at);
  const uint lane = (uint)get_local_id(0);
  const ulong tiles = (count + MASU_TILE - 1) / MASU_TILE;
  for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    if (lane < 2) found[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint mine = 0;
    for (uint k = 0; k < MASU_ITEM_ELEMENTS; ++k) {
      const ulong e = tile * MASU_TILE + k * MASU_GROUP + lane;
      if (e < count) mine += class_of(ordered_key(element_at(data + byte_offset, e)), wanted);
    }
    if ((mine & 0xffffu) != 0) atomic_add(&found[0], mine & 0xffffu);
    if (mine >> 16 != 0) atomic_add(&found[1], mine >> 16);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 2) counts[2 * tile + lane] = found[lane];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// One work-group: counts become the places where each tile's elements begin, and the totals go behind them.
__kernel MASU_WORK_GROUP(MASU_GROUP) void quantile_scan(const ulong tiles, __global uchar *work, const ulong counts_at,
                                                        __local ulong *sums) {
  MASU_LOCAL_POINTER(ulong, sums);
  __global ulong *counts = (__global ulong *)(work + counts_at);
  const uint lane = (uint)get_local_id(0);
  const ulong each = (tiles + MASU_GROUP - 1) / MASU_GROUP;
  const ulong first = lane * each < tiles ? lane * each : tiles;
  const ulong end = first + each < tiles ? first + each : tiles;
  ulong less = 0;
  ulong equal = 0;
  for (ulong tile = first; tile < end; ++tile) {
    less += counts[2 * tile];
    equal += counts[2 * tile + 1];
  }
  sums[lane] = less;
  sums[MASU_GROUP + lane] = equal;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 2) {
    ulong sum = 0;
    for (uint i = 0; i < MASU_GROUP; ++i) {
      const ulong here = sums[lane * MASU_GROUP + i];
      sums[lane * MASU_GROUP + i] = sum;
      sum += here;
    }
    counts[2 * tiles + lane] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  less = sums[lane];
  equal = sums[MASU_GROUP + lane];
  for (ulong tile = first; tile < end; ++tile) {
    const ulong here_less = counts[2 * tile];
    const ulong here_equal = counts[2 * tile + 1];
    counts[2 * tile] = less;
    counts[2 * tile + 1] = equal;
    less += here_less;
    equal += here_equal;
  }
}

// Each element goes to its place.
__kernel MASU_WORK_GROUP(MASU_GROUP) void quantile_scatter(__global const uchar *data, const ulong byte_offset,
                                                           const ulong count, const ulong wanted,
                                                           __global const uchar *work, const ulong counts_at,
                                                           __global uchar *result, const ulong result_at,
                                                           __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  __global const ulong *counts = (__global const ulong *)(work + counts_at);
  __global const uchar *bytes = data + byte_offset;
  const uint lane = (uint)get_local_id(0);
  const ulong tiles = (count + MASU_TILE - 1) / MASU_TILE;
  const ulong all_less = counts[2 * tiles];
  const ulong all_equal = counts[2 * tiles + 1];
  for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    const ulong first = tile * MASU_TILE + lane * MASU_ITEM_ELEMENTS;
    uint mine = 0;
    for (uint k = 0; k < MASU_ITEM_ELEMENTS; ++k) {
      if (first + k < count) mine += class_of(ordered_key(element_at(bytes, first + k)), wanted);
    }
    uint all;
    const uint before = group_scan(mine, MASU_GROUP, sums, lane, &all) - mine;
    ulong less = counts[2 * tile] + (before & 0xffffu);
    ulong equal = counts[2 * tile + 1] + (before >> 16);
    for (uint k = 0; k < MASU_ITEM_ELEMENTS; ++k) {
      const ulong e = first + k;
      if (e < count) {
        const MASU_BITS bits = element_at(bytes, e);
        const uint which = class_of(ordered_key(bits), wanted);
        const ulong greater = all_less + all_equal + (e - less - equal);
        set_element(result + result_at, which == MASU_LESS ? less : which == MASU_EQUAL ? all_less + equal : greater, bits);
        less += which == MASU_LESS ? 1 : 0;
        equal += which == MASU_EQUAL ? 1 : 0;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// The keys at the same places of each of many rows of `count` elements.
__kernel MASU_WORK_GROUP(MASU_GROUP) void quantile_gather(__global const uchar *data, const ulong byte_offset,
                                                          const ulong count, const ulong rows,
                                                          __global const ulong *places, const uint number,
                                                          __global ulong *found) {
  for (ulong i = get_global_id(0); i < rows * number; i += get_global_size(0)) {
    found[i] = ordered_key(element_at(data + byte_offset, i / number * count + places[i % number]));
  }
}

// SPDX-License-Identifier: Apache-2.0
// The stable partition around a key, in three steps. Behind elements.cl, order.cl and group_scan.cl. Defines beside those
// of them, given by quantile_plan.h:
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

// Where element i of a tile lies in local memory: work-items that read MASU_ITEM_ELEMENTS each, one behind the other, do not
// meet in a bank.
#define MASU_STAGED(i) ((i) + (i) / 32)

// Each element goes to its place: a tile's elements are brought into the order of their parts in local memory first, so
// that neighbours write side by side.
__kernel MASU_WORK_GROUP(MASU_GROUP) void quantile_scatter(__global const uchar *data, const ulong byte_offset,
                                                           const ulong count, const ulong wanted,
                                                           __global const uchar *work, const ulong counts_at,
                                                           __global uchar *result, const ulong result_at,
                                                           __local uint *sums, __local MASU_ELEMENT *staged) {
  MASU_LOCAL_POINTER(uint, sums);
  MASU_LOCAL_POINTER(MASU_ELEMENT, staged);
  __global const ulong *counts = (__global const ulong *)(work + counts_at);
  __global const uchar *bytes = data + byte_offset;
  const uint lane = (uint)get_local_id(0);
  const ulong tiles = (count + MASU_TILE - 1) / MASU_TILE;
  const ulong all_less = counts[2 * tiles];
  const ulong all_equal = counts[2 * tiles + 1];
  for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    const ulong first = tile * MASU_TILE;
    const uint length = count - first < MASU_TILE ? (uint)(count - first) : MASU_TILE;
    for (uint i = lane; i < length; i += MASU_GROUP) staged[MASU_STAGED(i)] = (MASU_ELEMENT)element_at(bytes, first + i);
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_BITS own[MASU_ITEM_ELEMENTS];
    uint mine = 0;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_ITEM_ELEMENTS; ++k) {
      const uint i = lane * MASU_ITEM_ELEMENTS + k;
      own[k] = i < length ? staged[MASU_STAGED(i)] : 0;
      mine += i < length ? class_of(ordered_key(own[k]), wanted) : 0;
    }
    uint all;
    const uint before = group_scan(mine, MASU_GROUP, sums, lane, &all) - mine;
    const uint tile_less = all & 0xffffu;
    const uint tile_equal = all >> 16;
    uint less = before & 0xffffu;
    uint equal = before >> 16;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_ITEM_ELEMENTS; ++k) {
      const uint i = lane * MASU_ITEM_ELEMENTS + k;
      const uint which = class_of(ordered_key(own[k]), wanted);
      const uint greater = tile_less + tile_equal + (i - less - equal);
      const uint place = which == MASU_LESS ? less : which == MASU_EQUAL ? tile_less + equal : greater;
      if (i < length) staged[MASU_STAGED(place)] = (MASU_ELEMENT)own[k];
      less += which == MASU_LESS ? 1 : 0;
      equal += which == MASU_EQUAL ? 1 : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong less_at = counts[2 * tile];
    const ulong equal_at = counts[2 * tile + 1];
    const ulong greater_at = all_less + all_equal + (first - less_at - equal_at);
    for (uint i = lane; i < length; i += MASU_GROUP) {
      const ulong at = i < tile_less                ? less_at + i
                       : i < tile_less + tile_equal ? all_less + equal_at + (i - tile_less)
                                                    : greater_at + (i - tile_less - tile_equal);
      set_element(result + result_at, at, staged[MASU_STAGED(i)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

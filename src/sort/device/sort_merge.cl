// SPDX-License-Identifier: Apache-2.0
// Stable merging of sorted runs, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). sort_key.cl stands in
// front of this file.
//
// Each work-group makes tiles of the result, one behind the other. Where a tile's part of the two runs begins and ends
// is found by search along a diagonal of the merge path (O. Green, R. McColl and D. A. Bader, GPU merge path, ICS
// 2012), so every group has as much to do, whatever the keys are. All work-items look at as many places of a diagonal
// at once: few reads of memory wait for each other. A tile begins where the one before ends, and its end is at most a
// tile further in either run, so only a group's first search reads keys from far away.
//
// Defines, all given by sort_merge.cpp:
// - MASU_GROUP          work-items in a work-group
// - MASU_ITEMS          keys that each work-item merges
// - MASU_PAYLOAD_UNITS  units that move with each key; 0: nothing does
// - MASU_PAYLOAD        the type of a unit

#define MASU_TILE (MASU_GROUP * MASU_ITEMS)
// Places lie with a word between those of each work-item, so that neighbours do not share a bank.
#define MASU_PADDED(i) ((i) + (i) / MASU_ITEMS)

// How many of the first `diagonal` keys of the result are a's: of equal keys, a's come first. At least `low` and at
// most `high`. All work-items of the group call it with the same numbers. `below` counts the probes of a round in one
// of three words, `round`, while the one before is cleared and the next is clear.
inline ulong on_merge_path(__global const MASU_ELEMENT *a, __global const MASU_ELEMENT *b, ulong low, ulong high,
                           const ulong diagonal, __local uint *below, uint *round) {
  const uint lane = (uint)get_local_id(0);
  while (low < high) {
    // Probe i is behind the i-th step. Those that lie before the place that is sought are the first ones.
    const ulong width = high - low;
    const ulong step = (width + MASU_GROUP) / (MASU_GROUP + 1);
    const ulong within = (lane + 1) * step;
    if (within <= width) {
      const ulong middle = low + within - 1;
      if (sort_key(b[diagonal - 1 - middle]) >= sort_key(a[middle])) atomic_inc(&below[*round]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint probes = below[*round];
    if (lane == 0) below[*round == 0 ? 2 : *round - 1] = 0;
    *round = *round == 2 ? 0 : *round + 1;
    if (probes < MASU_GROUP) high = low + min(width, (probes + 1) * step - 1);
    low += probes * step;
  }
  return low;
}

// `pieces` of piece_length keys each. In a piece, runs of left_length and right_length keys alternate; the last may be
// shorter. Runs 0 and 1 become one, 2 and 3, and so on. A pair of runs is a multiple of MASU_TILE, or the whole piece.
// The second run of a pair begins right_place keys behind the first.
// A group makes `tiles_each` tiles of the first `tiles`. `places` has MASU_TILE + MASU_GROUP words, `below` three.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_merge(
    __global const uchar *key_source, const ulong key_source_offset, __global uchar *key_target,
    const ulong key_target_offset, __global const uchar *payload_source, const ulong payload_source_offset,
    __global uchar *payload_target, const ulong payload_target_offset, const ulong piece_length,
    const ulong piece_tiles, const ulong left_length, const ulong right_length, const ulong right_place,
    const ulong first_tile, const ulong tiles, const uint tiles_each, __local MASU_ELEMENT *keys, __local uint *places,
    __local uint *below) {
  MASU_LOCAL_POINTER(MASU_ELEMENT, keys);
  MASU_LOCAL_POINTER(uint, places);
  MASU_LOCAL_POINTER(uint, below);
  const uint lane = (uint)get_local_id(0);
  const ulong own_tile = first_tile + get_group_id(0) * (ulong)tiles_each;
  const ulong last_tile = min(own_tile + tiles_each, tiles);
  const ulong pair = left_length + right_length;
  for (uint i = lane; i < 3; i += MASU_GROUP) below[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint round = 0;
  ulong a_end = 0;
  for (ulong tile = own_tile; tile < last_tile; ++tile) {
    const ulong piece = tile / piece_tiles;
    const ulong tile_begin = (tile - piece * piece_tiles) * MASU_TILE;
    // Two runs: a from `base` on, b behind it.
    const ulong base = tile_begin / pair * pair;
    const ulong a_length = min(left_length, piece_length - base);
    const ulong b_length = min(right_length, piece_length - base - a_length);
    const ulong first = piece * piece_length + base;
    __global const MASU_ELEMENT *a = (__global const MASU_ELEMENT *)(key_source + key_source_offset) + first;
    __global const MASU_ELEMENT *b = a + right_place;
    const ulong begin = tile_begin - base;
    const ulong end = min(begin + MASU_TILE, a_length + b_length);
    ulong a_begin = begin == 0 ? 0 : a_end;
    if (begin != 0 && tile == own_tile) {
      const ulong fewest = (ulong)max((long)begin - (long)b_length, (long)0);
      a_begin = on_merge_path(a, b, fewest, min(begin, a_length), begin, below, &round);
    }
    const ulong b_begin = begin - a_begin;
    const ulong fewest = (ulong)max((long)end - (long)b_length, (long)0);
    a_end = on_merge_path(a, b, max(a_begin, fewest), min(a_begin + (end - begin), a_length), end, below, &round);
    const uint a_count = (uint)(a_end - a_begin);
    const uint count = (uint)(end - begin);
    const uint b_count = count - a_count;
    for (uint i = lane; i < count; i += MASU_GROUP) {
      keys[i] = i < a_count ? a[a_begin + i] : b[b_begin + (i - a_count)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // The same within the tile, for each work-item's part of it.
    const uint diagonal = min(lane * MASU_ITEMS, count);
    uint low = (uint)max((int)diagonal - (int)b_count, 0);
    uint high = min(diagonal, a_count);
    while (low < high) {
      const uint middle = low + (high - low) / 2;
      if (sort_key(keys[a_count + (diagonal - 1 - middle)]) < sort_key(keys[middle])) high = middle;
      else low = middle + 1;
    }
    uint of_a = low;
    uint of_b = a_count + (diagonal - low);
    if (diagonal < count) {
      MASU_BITS a_key = sort_key(keys[min(of_a, count - 1)]);
      MASU_BITS b_key = sort_key(keys[min(of_b, count - 1)]);
      for (uint i = diagonal; i < min(diagonal + MASU_ITEMS, count); ++i) {
        const bool from_b = of_a == a_count || (of_b < count && b_key < a_key);
        places[MASU_PADDED(i)] = from_b ? of_b : of_a;
        of_a += from_b ? 0 : 1;
        of_b += from_b ? 1 : 0;
        const MASU_BITS next = sort_key(keys[min(from_b ? of_b : of_a, count - 1)]);
        a_key = from_b ? a_key : next;
        b_key = from_b ? next : b_key;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    __global MASU_ELEMENT *to = (__global MASU_ELEMENT *)(key_target + key_target_offset) + first + begin;
#if MASU_PAYLOAD_UNITS != 0
    __global const MASU_PAYLOAD *payload =
        (__global const MASU_PAYLOAD *)(payload_source + payload_source_offset) + first * MASU_PAYLOAD_UNITS;
    __global MASU_PAYLOAD *moved =
        (__global MASU_PAYLOAD *)(payload_target + payload_target_offset) + (first + begin) * MASU_PAYLOAD_UNITS;
#endif
    for (uint i = lane; i < count; i += MASU_GROUP) {
      const uint place = places[MASU_PADDED(i)];
      to[i] = keys[place];
#if MASU_PAYLOAD_UNITS != 0
      const ulong from = place < a_count ? a_begin + place : right_place + b_begin + (place - a_count);
      for (uint u = 0; u < MASU_PAYLOAD_UNITS; ++u) {
        moved[i * MASU_PAYLOAD_UNITS + u] = payload[from * MASU_PAYLOAD_UNITS + u];
      }
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Stable merging of sorted runs, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). sort_key.cl stands in front
// of this file.
//
// Each work-group makes a tile of the result. Where its part of the two runs begins and ends is found by binary search
// along a diagonal of the merge path (O. Green, R. McColl and D. A. Bader, GPU merge path, ICS 2012), so every group has
// as much to do, whatever the keys are.
//
// Defines, all given by sort_merge.cpp:
#ifndef MASU_GROUP            // work-items in a work-group
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_EACH             // keys that each work-item merges
#error "MASU_EACH is not defined"
#endif
#ifndef MASU_PAYLOAD_BYTES    // bytes that move with each key: 1, 2, 4 or 8; 0: nothing does
#error "MASU_PAYLOAD_BYTES is not defined"
#endif

#define MASU_TILE (MASU_GROUP * MASU_EACH)
#if MASU_PAYLOAD_BYTES == 8
#define MASU_PAYLOAD ulong
#elif MASU_PAYLOAD_BYTES == 4
#define MASU_PAYLOAD uint
#elif MASU_PAYLOAD_BYTES == 2
#define MASU_PAYLOAD ushort
#else
#define MASU_PAYLOAD uchar
#endif

// `pieces` of piece_length keys, in each sorted runs of run_length, a multiple of MASU_TILE, the last shorter. Runs 0 and 1
// become one, 2 and 3, and so on. `found` has two places.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_merge(
    __global const uchar *key_source, const ulong key_source_offset, __global uchar *key_target,
    const ulong key_target_offset, __global const uchar *payload_source, const ulong payload_source_offset,
    __global uchar *payload_target, const ulong payload_target_offset, const ulong piece_length, const ulong piece_tiles,
    const ulong run_length, const ulong first_tile, __local MASU_KEY *keys, __local uint *places, __local ulong *found) {
  MASU_LOCAL_POINTER(MASU_KEY, keys);
  MASU_LOCAL_POINTER(uint, places);
  MASU_LOCAL_POINTER(ulong, found);
  const uint lane = (uint)get_local_id(0);
  const ulong tile = first_tile + get_group_id(0);
  const ulong piece = tile / piece_tiles;
  const ulong tile_begin = (tile - piece * piece_tiles) * MASU_TILE;
  // Two runs: a from `base` on, b behind it.
  const ulong base = tile_begin / (2 * run_length) * (2 * run_length);
  const ulong a_length = min(run_length, piece_length - base);
  const ulong b_length = min(run_length, piece_length - base - a_length);
  const ulong first = piece * piece_length + base;
  __global const MASU_KEY *a = (__global const MASU_KEY *)(key_source + key_source_offset) + first;
  __global const MASU_KEY *b = a + a_length;
  const ulong begin = tile_begin - base;
  const ulong end = min(begin + MASU_TILE, a_length + b_length);

  // How many of the first `diagonal` keys of the result are a's: of equal keys, a's come first.
  for (uint side = lane; side < 2; side += MASU_GROUP) {
    const ulong diagonal = side == 0 ? begin : end;
    ulong low = (ulong)max((long)diagonal - (long)b_length, (long)0);
    ulong high = min(diagonal, a_length);
    while (low < high) {
      const ulong middle = low + (high - low) / 2;
      if (ordered_key(b[diagonal - 1 - middle]) < ordered_key(a[middle])) high = middle;
      else low = middle + 1;
    }
    found[side] = low;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong a_begin = found[0];
  const uint a_count = (uint)(found[1] - a_begin);
  const ulong b_begin = begin - a_begin;
  const uint count = (uint)(end - begin);
  const uint b_count = count - a_count;
  for (uint i = lane; i < count; i += MASU_GROUP) {
    keys[i] = i < a_count ? a[a_begin + i] : b[b_begin + (i - a_count)];
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // The same within the tile, for each work-item's part of it.
  const uint diagonal = min(lane * MASU_EACH, count);
  uint low = (uint)max((int)diagonal - (int)b_count, 0);
  uint high = min(diagonal, a_count);
  while (low < high) {
    const uint middle = low + (high - low) / 2;
    if (ordered_key(keys[a_count + (diagonal - 1 - middle)]) < ordered_key(keys[middle])) high = middle;
    else low = middle + 1;
  }
  uint of_a = low;
  uint of_b = a_count + (diagonal - low);
  for (uint i = diagonal; i < min(diagonal + MASU_EACH, count); ++i) {
    const bool from_b =
        of_a == a_count || (of_b < count && ordered_key(keys[of_b]) < ordered_key(keys[of_a]));
    places[i] = from_b ? of_b++ : of_a++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  __global MASU_KEY *to = (__global MASU_KEY *)(key_target + key_target_offset) + first + begin;
#if MASU_PAYLOAD_BYTES != 0
  __global const MASU_PAYLOAD *payload = (__global const MASU_PAYLOAD *)(payload_source + payload_source_offset) + first;
  __global MASU_PAYLOAD *moved = (__global MASU_PAYLOAD *)(payload_target + payload_target_offset) + first + begin;
#endif
  for (uint i = lane; i < count; i += MASU_GROUP) {
    const uint place = places[i];
    to[i] = keys[place];
#if MASU_PAYLOAD_BYTES != 0
    moved[i] = payload[place < a_count ? a_begin + place : a_length + b_begin + (place - a_count)];
#endif
  }
}

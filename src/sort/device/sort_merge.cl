// SPDX-License-Identifier: Apache-2.0
// Stable merging of sorted runs, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). sort_key.cl stands in
// front of this file.
//
// Each work-group makes some tiles of the result, one after the other. Where a tile's part of the two runs begins and
// ends is found by search along a diagonal of the merge path (O. Green, R. McColl and D. A. Bader, GPU merge path, ICS
// 2012), so every group has as much to do, whatever the keys are. All borders of a group's tiles are sought at once,
// each by many work-items that look at as many places of its diagonal: few reads of memory wait for each other. A tile
// is read while the one before it is merged.
//
// kernels.md has the parameters, which sort_merge.cpp gives.

enum { tile_keys = MASU_GROUP * MASU_ITEMS };
enum { border_count = MASU_TILES + 1 };
// Work-groups of 256 that share a multiprocessor: without this the registers left room for two.
#define MASU_RESIDENT (MASU_PAYLOAD_UNITS == 0 ? 4 : 5)
// Work-items that seek a border.
enum { seeker_count = MASU_GROUP / border_count };
// Places lie with one between those of each work-item, so that neighbours do not share a bank.
#define SORT_PADDED(i) ((i) + (i) / MASU_ITEMS)

// A tile, and the two runs whose part it is.
typedef struct {
  ulong first;  // where the runs begin in the source, and their result in the result
  ulong a_length;
  ulong b_length;
  ulong begin;  // of the tile, from `first` on
  ulong end;
} masu_tile;

// The same, when its borders are found: its key `at` is source[a + at], or from the a_count-th on source[b + at].
typedef struct {
  ulong a;
  ulong b;
  ulong to;
  uint a_count;
  uint count;
} masu_part;

// Reads the keys of `part` into registers.
#define SORT_READ_TILE                                                                 \
  MASU_UNROLLED                                                                        \
  for (uint i = 0; i < MASU_ITEMS; ++i) {                                              \
    const uint at = i * MASU_GROUP + lane;                                             \
    if (at < part.count) next[i] = source[(at < part.a_count ? part.a : part.b) + at]; \
  }

inline masu_tile tile_of(const ulong number, const ulong piece_length, const ulong piece_tiles, const ulong left_length,
                         const ulong right_length) {
  masu_tile tile;
  const ulong piece = number / piece_tiles;
  const ulong within = (number - piece * piece_tiles) * tile_keys;
  const ulong base = within / (left_length + right_length) * (left_length + right_length);
  tile.first = piece * piece_length + base;
  tile.a_length = min(left_length, piece_length - base);
  tile.b_length = min(right_length, piece_length - base - tile.a_length);
  tile.begin = within - base;
  tile.end = min(tile.begin + tile_keys, tile.a_length + tile.b_length);
  return tile;
}

// `pieces` of piece_length keys each. In a piece, runs of left_length and right_length keys alternate; the last may be
// shorter. Runs 0 and 1 become one, 2 and 3, and so on. A pair of runs is a multiple of tile_keys, or the whole piece.
// The second run of a pair begins right_place keys after the first.
// A group makes `tiles_each` tiles of the first `tiles`. `memory` has room for tile_keys + MASU_GROUP keys or, where
// something moves with them and that is more, words. `parts` has MASU_TILES, `borders` border_count, and `below` three
// times as many words, one for each border in each of three rounds: the probes of one are counted in it, while those of
// the one before are cleared and those of the next are clear.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void sort_merge(
    __global const uchar* key_source, const ulong key_source_offset, __global uchar* key_target,
    const ulong key_target_offset, __global const uchar* payload_source, const ulong payload_source_offset,
    __global uchar* payload_target, const ulong payload_target_offset, const ulong piece_length,
    const ulong piece_tiles, const ulong left_length, const ulong right_length, const ulong right_place,
    const ulong first_tile, const ulong tiles, const uint tiles_each, __local ulong* memory, __local masu_part* parts,
    __local ulong* borders, __local uint* below) {
  MASU_LOCAL_POINTER(ulong, memory);
  MASU_LOCAL_POINTER(masu_part, parts);
  MASU_LOCAL_POINTER(ulong, borders);
  MASU_LOCAL_POINTER(uint, below);
  __global const MASU_ELEMENT* const source = (__global const MASU_ELEMENT*)(key_source + key_source_offset);
  const uint lane = (uint)get_local_id(0);
  const ulong own_tile = first_tile + get_group_id(0) * (ulong)tiles_each;
  const uint here = (uint)min((ulong)tiles_each, tiles - own_tile);
  for (uint i = lane; i < 3 * border_count; i += MASU_GROUP) below[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  // Border k is where tile k begins, the last one where the last tile ends.
  const uint border = lane / seeker_count;
  const uint seeker = lane - border * seeker_count;
  const bool seeks = border <= here;
  const masu_tile own = tile_of(own_tile + min(border, here - 1), piece_length, piece_tiles, left_length, right_length);
  __global const MASU_ELEMENT* const a = source + own.first;
  __global const MASU_ELEMENT* const b = a + right_place;
  const ulong diagonal = border < here ? own.begin : own.end;
  // How many of the first `diagonal` keys of the result are a's: of equal keys, a's come first.
  ulong low = diagonal - min(diagonal, own.b_length);
  ulong high = min(diagonal, own.a_length);
  uint round = 0;
  for (ulong most = min(left_length, right_length); most != 0; most /= seeker_count + 1) {
    // Probe i is after the i-th step. Those that lie before the place that is sought are the first ones.
    const ulong width = high - low;
    const ulong step = width / (seeker_count + 1) + 1;
    const ulong within = (seeker + 1) * step;
    if (seeks && within <= width) {
      const ulong middle = low + within - 1;
      if (sort_key(b[diagonal - 1 - middle]) >= sort_key(a[middle])) {
        atomic_inc(&below[round * border_count + border]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint probes = seeks ? below[round * border_count + border] : 0;
    round = round == 2 ? 0 : round + 1;
    if (lane < border_count) below[(round == 2 ? 0 : round + 1) * border_count + lane] = 0;
    if (probes < seeker_count) high = low + min(width, (probes + 1) * step - 1);
    low += probes * step;
  }
  const bool first_seeker = seeks && seeker == 0;
  if (first_seeker) borders[border] = low;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (first_seeker && border < here) {
    masu_part part;
    part.a = own.first + low;
    part.to = own.first + own.begin;
    const ulong a_end = own.end == own.a_length + own.b_length ? own.a_length : borders[border + 1];
    part.a_count = (uint)(a_end - low);
    part.b = own.first + right_place + (own.begin - low) - part.a_count;
    part.count = (uint)(own.end - own.begin);
    parts[border] = part;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  __local MASU_ELEMENT* const keys = (__local MASU_ELEMENT*)memory;
  MASU_ELEMENT next[MASU_ITEMS];
  masu_part part = parts[0];
  SORT_READ_TILE
  for (uint tile = 0; tile < here; ++tile) {
    const uint a_count = part.a_count;
    const uint count = part.count;
    const ulong to = part.to;
#if MASU_PAYLOAD_UNITS != 0
    const ulong a_from = part.a;
    const ulong b_from = part.b;
#endif
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint at = i * MASU_GROUP + lane;
      if (at < count) keys[at] = next[i];
    }
    // Behind the end of a run its next key is looked at, and not taken.
    if (lane <= MASU_ITEMS) keys[count + lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tile + 1 < here) {
      part = parts[tile + 1];
      SORT_READ_TILE
    }

    // The same search within the tile, for each work-item's part of it.
    const uint mine = min(lane * MASU_ITEMS, count);
    uint lowest = mine - min(mine, count - a_count);
    uint highest = min(mine, a_count);
    while (lowest < highest) {
      const uint middle = lowest + (highest - lowest) / 2;
      if (sort_key(keys[a_count + (mine - 1 - middle)]) < sort_key(keys[middle])) highest = middle;
      else lowest = middle + 1;
    }
    uint of_a = lowest;
    uint of_b = a_count + (mine - lowest);
    MASU_ELEMENT merged[MASU_ITEMS];
#if MASU_PAYLOAD_UNITS != 0
    uint places[MASU_ITEMS];
#endif
    MASU_ELEMENT a_next = keys[of_a];
    MASU_ELEMENT b_next = keys[of_b];
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const bool from_b = of_a >= a_count || (of_b < count && sort_key(b_next) < sort_key(a_next));
      merged[i] = from_b ? b_next : a_next;
#if MASU_PAYLOAD_UNITS != 0
      places[i] = from_b ? of_b : of_a;
#endif
      of_a += from_b ? 0 : 1;
      of_b += from_b ? 1 : 0;
      const MASU_ELEMENT following = keys[from_b ? of_b : of_a];
      a_next = from_b ? a_next : following;
      b_next = from_b ? following : b_next;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) keys[lane * (MASU_ITEMS + 1) + i] = merged[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    __global MASU_ELEMENT* const target = (__global MASU_ELEMENT*)(key_target + key_target_offset) + to;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint at = i * MASU_GROUP + lane;
      if (at < count) target[at] = keys[SORT_PADDED(at)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_PAYLOAD_UNITS != 0
    __local uint* const words = (__local uint*)memory;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) words[lane * (MASU_ITEMS + 1) + i] = places[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    __global const MASU_PAYLOAD* const payload = (__global const MASU_PAYLOAD*)(payload_source + payload_source_offset);
    __global MASU_PAYLOAD* const moved =
        (__global MASU_PAYLOAD*)(payload_target + payload_target_offset) + to * MASU_PAYLOAD_UNITS;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint at = i * MASU_GROUP + lane;
      if (at >= count) continue;
      const uint place = words[SORT_PADDED(at)];
      const ulong from = (place < a_count ? a_from : b_from) + place;
      for (uint u = 0; u < MASU_PAYLOAD_UNITS; ++u) {
        moved[at * MASU_PAYLOAD_UNITS + u] = payload[from * MASU_PAYLOAD_UNITS + u];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
}

// SPDX-License-Identifier: Apache-2.0
// The passes of the bitonic network whose pairs lie in different tiles, and the rest of each stage, in OpenCL C 1.2 (and,
// behind the CUDA prelude, in CUDA C++). The stages within tiles are sort_rows.cl's. masu/bitonic.h has the schedule.
// sort_key.cl stands in front of this file.
//
// Defines, all given by sort_rows.cpp:
// - MASU_GROUP        work-items in a work-group
// - MASU_TILE         keys of a tile, a power of two
// - MASU_INDEX_BYTES  bytes of the index beside each key, 4 or 8; 0: there is none
// - MASU_INDEX        its type
// - MASU_FUSED        far passes in one launch: each work-item holds 2^this keys; 0: the kernel for near ones

#define MASU_ARRAYS                                                                                           \
  __global uchar *key_memory, const ulong key_offset, __global uchar *index_memory, const ulong index_offset, \
      const ulong piece_length

// Whether b comes before a. Keys with indices are never equal.
MASU_INLINE bool comes_first(const MASU_ELEMENT b, const MASU_INDEX b_index, const MASU_ELEMENT a, const MASU_INDEX a_index) {
  const MASU_BITS left = sort_key(b);
  const MASU_BITS right = sort_key(a);
#if MASU_INDEX_BYTES != 0
  return left < right || (left == right && b_index < a_index);
#else
  return left < right;
#endif
}

#if MASU_FUSED != 0
// MASU_FUSED passes of a stage, from `distance` on, which halves; mirrored: the first is the stage's first. A work-item
// takes the 2^MASU_FUSED keys that these passes compare with each other, and no others: 2^between_bits apart. Work-items
// are numbered from piece to piece, piece_items for each.
__kernel MASU_WORK_GROUP(MASU_GROUP) void bitonic_far(MASU_ARRAYS, const ulong work_items, const ulong piece_items,
                                                      const ulong first_item, const uint between_bits,
                                                      const uint mirrored) {
  const ulong item = first_item + get_global_id(0);
  if (item >= work_items) return;
  const ulong piece = piece_items == work_items ? 0 : item / piece_items;
  const ulong of_piece = item - piece * piece_items;
  const ulong between = (ulong)1 << between_bits;
  const ulong within = of_piece & (between - 1);
  const ulong block = of_piece >> between_bits << (between_bits + MASU_FUSED);
  __global MASU_ELEMENT *keys = (__global MASU_ELEMENT *)(key_memory + key_offset) + piece * piece_length;
#if MASU_INDEX_BYTES != 0
  __global MASU_INDEX *indices = (__global MASU_INDEX *)(index_memory + index_offset) + piece * piece_length;
#endif

  ulong places[1 << MASU_FUSED];
  MASU_ELEMENT key[1 << MASU_FUSED];
  MASU_INDEX index[1 << MASU_FUSED];
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < 1 << MASU_FUSED; ++e) {
    const bool low = e < 1 << (MASU_FUSED - 1);
    places[e] = block + e * between + (low && mirrored != 0 ? between - 1 - within : within);
    key[e] = 0;
    index[e] = 0;
    if (places[e] < piece_length) {
      key[e] = keys[places[e]];
#if MASU_INDEX_BYTES != 0
      index[e] = indices[places[e]];
#endif
    }
  }
  MASU_PRAGMA_UNROLL
  for (int pass = 0; pass < MASU_FUSED; ++pass) {
    const int distance = 1 << (MASU_FUSED - 1 - pass);
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < 1 << MASU_FUSED; ++e) {
      if ((e & distance) != 0) continue;
      MASU_PRAGMA_UNROLL
      for (int other = 0; other < 1 << MASU_FUSED; ++other) {  // every subscript is known when compiled
        const bool opposite = other == (1 << MASU_FUSED) - 1 - e;
        const bool parallel = other == e + distance;
        if (!(opposite && pass == 0) && !parallel) continue;
        const bool taken = pass != 0 || (mirrored != 0 ? opposite : parallel);
        // What is missing comes last, and stays there.
        if (taken && places[other] < piece_length && comes_first(key[other], index[other], key[e], index[e])) {
          const MASU_ELEMENT lesser = key[other];
          key[other] = key[e];
          key[e] = lesser;
          const MASU_INDEX lesser_index = index[other];
          index[other] = index[e];
          index[e] = lesser_index;
        }
      }
    }
  }
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < 1 << MASU_FUSED; ++e) {
    if (places[e] < piece_length) {
      keys[places[e]] = key[e];
#if MASU_INDEX_BYTES != 0
      indices[places[e]] = index[e];
#endif
    }
  }
}

#else
// The rest of a stage: passes of the distances MASU_TILE / 2 ... 1, in local memory. A work-group takes a tile.
__kernel MASU_WORK_GROUP(MASU_GROUP) void bitonic_near(MASU_ARRAYS, const ulong piece_tiles, const ulong first_tile,
                                                       __local MASU_ELEMENT *key, __local MASU_INDEX *index) {
  MASU_LOCAL_POINTER(MASU_ELEMENT, key);
  MASU_LOCAL_POINTER(MASU_INDEX, index);
  const ulong tile = first_tile + get_group_id(0);
  const ulong piece = tile / piece_tiles;
  const ulong first = (tile - piece * piece_tiles) * MASU_TILE;
  const uint length = (uint)min((ulong)MASU_TILE, piece_length - first);
  const uint lane = (uint)get_local_id(0);
  __global MASU_ELEMENT *keys = (__global MASU_ELEMENT *)(key_memory + key_offset) + piece * piece_length + first;
#if MASU_INDEX_BYTES != 0
  __global MASU_INDEX *indices = (__global MASU_INDEX *)(index_memory + index_offset) + piece * piece_length + first;
#endif
  for (uint i = lane; i < length; i += MASU_GROUP) {
    key[i] = keys[i];
#if MASU_INDEX_BYTES != 0
    index[i] = indices[i];
#endif
  }
  for (uint distance = MASU_TILE / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint pair = lane; pair < MASU_TILE / 2; pair += MASU_GROUP) {
      const uint lower = 2 * pair - (pair & (distance - 1));
      const uint upper = lower + distance;
      if (upper < length) {
        const MASU_ELEMENT a = key[lower];
        const MASU_ELEMENT b = key[upper];
#if MASU_INDEX_BYTES != 0
        const MASU_INDEX a_index = index[lower];
        const MASU_INDEX b_index = index[upper];
#else
        const MASU_INDEX a_index = 0, b_index = 0;
#endif
        if (comes_first(b, b_index, a, a_index)) {
          key[lower] = b;
          key[upper] = a;
#if MASU_INDEX_BYTES != 0
          index[lower] = b_index;
          index[upper] = a_index;
#endif
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lane; i < length; i += MASU_GROUP) {
    keys[i] = key[i];
#if MASU_INDEX_BYTES != 0
    indices[i] = index[i];
#endif
  }
}
#endif

// SPDX-License-Identifier: Apache-2.0
// Sorted keys of 8 or 16 bits from how often each occurs, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++):
//   sort_offsets  where the keys of each value begin
//   sort_fill     writes every place's key; zeros and NaNs that move have been brought to their places from `moved_at` on
// sort_key.cl, group_scan.cl, sort_lists.cl and sort_special.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_counting.cpp gives.

enum { summed_together = 16 };  // counts that a work-item reads at once

// offsets[r] is how many keys come before those of rank r; offsets[MASU_VALUES] is all. Each work-group scans MASU_SCAN_GROUP
// counts, and sums all before them by itself: they are few, and no group waits for another.
__kernel MASU_WORK_GROUP(MASU_SCAN_GROUP) void sort_offsets(__global uchar *workspace, const ulong counts_at,
                                                            const ulong offsets_at, const ulong header_at,
                                                            const ulong count, const uint flip, __local ulong *sums) {
  MASU_LOCAL_POINTER(ulong, sums);
  __global const ulong *const counts = (__global const ulong *)(workspace + counts_at);
  const uint lid = (uint)get_local_id(0);
  const uint first = (uint)get_group_id(0) * MASU_SCAN_GROUP;
  __global ulong *const offsets = (__global ulong *)(workspace + offsets_at);
  ulong before = 0;
  for (uint from = lid; from < first; from += summed_together * MASU_SCAN_GROUP) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < summed_together; ++k) {
      const uint rank = from + k * MASU_SCAN_GROUP;
      before += rank < first ? counts[bits_of_rank(rank, flip)] : 0;
    }
  }
  const uint bits = bits_of_rank(first + lid, flip);
  const ulong own = counts[bits];
  __local ulong *const totals = sums + MASU_SCAN_GROUP;
  sums[lid] = own;
  totals[lid] = before;
  MASU_LOCAL_SUMS_AND_TOTAL(ulong, sums, totals, MASU_SCAN_GROUP, lid)
  const ulong end = totals[lid] + sums[lid];
  const ulong begin = end - own;
  offsets[first + lid] = begin;
  if (first + lid == MASU_VALUES - 1) offsets[MASU_VALUES] = end;
#if MASU_FLOAT
  // What sort_special.cl has to know. NaNs are the first or the last ones.
  __global uint *const header = SORT_AT(uint, header_at);
  const bool descends = flip != 0;
  if (bits == 0) header[header_zeros] = (uint)own;
  if (bits == MASU_SIGN) header[header_minuses] = (uint)own;
  if (bits == (descends ? MASU_SIGN : 0)) header[header_zero_end] = (uint)end;
  if (bits == MASU_INFINITY_BITS) header[header_nans] = (uint)(descends ? begin : count - end);
  if ((bits & (MASU_SIGN - 1)) > MASU_INFINITY_BITS && own != 0 && (descends ? begin == 0 : end == count)) {
    header[header_one_nan] = (uint)own;
  }
#endif
}

enum { vector_keys = 16 / MASU_ELEMENT_BYTES };  // of a vector
enum { tile_keys = MASU_GROUP * MASU_VECTORS * vector_keys };
enum { word_keys = 4 / MASU_ELEMENT_BYTES };

// The keys of a tile, whose places count from its first one on: the ranks of the first and of the last of these, and where each
// rank begins, which is in local memory unless there are too many.
typedef struct {
  __global const ulong *offsets;
  __local const uint *table;
  ulong first;
  uint low;
  uint high;
} Tile;
inline uint begin_of(const Tile *tile, const uint rank) {
  if (tile->high - tile->low < MASU_TABLE) return tile->table[rank - tile->low];
  return (uint)min(max(tile->offsets[rank], tile->first) - tile->first, (ulong)tile_keys);
}
// The rank of a place, from `low` on: the last one whose keys begin there or before; empty ranks after it begin later.
inline uint rank_at(const Tile *tile, const uint place, const uint low) {
  uint from = low;
  uint to = tile->high;
  while (from < to) {
    const uint middle = from + (to - from + 1) / 2;
    if (begin_of(tile, middle) <= place) from = middle;
    else to = middle - 1;
  }
  return from;
}

// The rank of a place of all: each step leaves as many as one of the work-items has looked at.
MASU_INLINE uint find_rank(__global const ulong *offsets, const ulong place, __local uint *found, const uint lid) {
  uint low = 0;
  for (uint width = MASU_VALUES; width > 1;) {
    const uint step = (width + MASU_GROUP - 1) / MASU_GROUP;
    const uint own = low + lid * step;
    if (lid * step < width && offsets[own] <= place && ((lid + 1) * step >= width || offsets[own + step] > place)) *found = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    low = *found;
    width = step;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return low;
}

// A work-group writes MASU_GROUP * MASU_VECTORS vectors that lie at multiples of 16 bytes; the first and the last of all
// may stand out, and are written key by key.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_fill(__global uchar *sorted, const ulong sorted_at,
                                                    __global const uchar *restrict workspace, const ulong offsets_at,
                                                    const ulong header_at, const ulong moved_at, const ulong count,
                                                    const uint flip, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  const uint lid = (uint)get_local_id(0);
  const bool with_zeros = MASU_FLOAT && zeros_move(SORT_AT(const uint, header_at));
  const bool with_nans = MASU_FLOAT && moved_nans(SORT_AT(const uint, header_at)) != 0;
#define SORT_MOVES(bits) (SORT_IS_SPECIAL(bits) && (is_nan(bits) ? with_nans : with_zeros))
  // Places count from a multiple of 16 bytes on at first; `before` keys lie there that are not to be written.
  const uint before = (uint)((size_t)(sorted + sorted_at) & 15) / MASU_ELEMENT_BYTES;
  const ulong begin = get_group_id(0) * (ulong)tile_keys;
  const ulong end = min(begin + tile_keys, count + before);
  if (begin >= end) return;
  const uint skipped = begin < before ? before : 0;
  Tile tile;
  tile.offsets = SORT_AT(const ulong, offsets_at);
  tile.table = table;
  tile.first = begin + skipped - before;
  tile.low = find_rank(tile.offsets, tile.first, table, lid);
  tile.high = find_rank(tile.offsets, end - before - 1, table, lid);
  const uint ranks = tile.high - tile.low + 1;
  if (ranks <= MASU_TABLE) {
    for (uint i = lid; i <= ranks; i += MASU_GROUP) {
      const ulong next = max(tile.offsets[tile.low + i], tile.first) - tile.first;
      table[i] = (uint)min(next, (ulong)tile_keys);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + tile.first;
  __global const MASU_ELEMENT *const moved = SORT_AT(const MASU_ELEMENT, moved_at) + tile.first;
  const uint size = (uint)(end - begin) - skipped;
  for (uint v = 0; v < MASU_VECTORS; ++v) {
    const uint place = (v * MASU_GROUP + lid) * vector_keys;
    const uint first = max(place, skipped) - skipped;
    if (place + vector_keys <= skipped || first >= size) continue;
    const uint limit = min(place + vector_keys - skipped, size);
    const bool whole = limit - first == vector_keys;
    uint rank = rank_at(&tile, first, tile.low);
    uint next = begin_of(&tile, rank + 1);
    uint bits = bits_of_rank(rank, flip);
    uint words[4];
    if (next >= limit && !SORT_MOVES(bits)) {
      words[0] = MASU_ELEMENT_BYTES == 1 ? bits * 0x1010101U : bits * 0x10001U;
      words[1] = words[2] = words[3] = words[0];
    } else {
      MASU_PRAGMA_UNROLL
      for (uint w = 0; w < 4; ++w) {
        words[w] = 0;
        for (uint k = 0; k < word_keys; ++k) {
          const uint p = first + w * word_keys + k;
          if (p >= limit) break;
          if (next <= p) {
            rank = rank_at(&tile, p, rank + 1);
            next = begin_of(&tile, rank + 1);
            bits = bits_of_rank(rank, flip);
          }
          words[w] |= (uint)(SORT_MOVES(bits) ? moved[p] : bits) << 8 * MASU_ELEMENT_BYTES * k;
        }
      }
    }
    if (whole) {
      *(__global uint4 *)(to + first) = vector_of(words);
    } else {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < vector_keys; ++k) {
        if (first + k < limit) to[first + k] = (MASU_ELEMENT)element_of(words, k);
      }
    }
  }
}

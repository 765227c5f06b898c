// SPDX-License-Identifier: Apache-2.0
// Sorted keys of 8 or 16 bits from where those of each value begin, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).
// Zeros and NaNs that move have been brought to their places from `moved_at` on. sort_key.cl, for floats also group_scan.cl,
// sort_lists.cl and sort_special.cl, stand in front of this file.
//
// kernels.md has the parameters, which sort_counting.cpp gives.

enum { vector_keys = 16 / MASU_ELEMENT_BYTES };  // of a vector

// The rank of place p, which lies in [low, high].
inline uint rank_at(__global const ulong *offsets, const ulong p, const uint low, const uint high) {
  uint from = low;
  uint to = high;
  while (from < to) {  // the last rank whose keys begin at or before p; empty ranks after it begin later
    const uint middle = from + (to - from + 1) / 2;
    if (offsets[middle] <= p) from = middle;
    else to = middle - 1;
  }
  return from;
}

// A work-group writes MASU_GROUP * MASU_VECTORS vectors that lie at multiples of 16 bytes; the first and the last of all
// may stand out, and are written key by key.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_fill(__global uchar *sorted, const ulong sorted_at,
                                                    __global const uchar *restrict workspace, const ulong offsets_at,
                                                    const ulong header_at, const ulong moved_at, const ulong count,
                                                    const uint flip, __local uint *ends) {
  MASU_LOCAL_POINTER(uint, ends);
  const uint lid = (uint)get_local_id(0);
  __global const ulong *const offsets = (__global const ulong *)(workspace + offsets_at);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at);
#if MASU_FLOAT
  const bool with_zeros = zeros_move(SORT_AT(const uint, header_at));
  const bool with_nans = nans_move(SORT_AT(const uint, header_at));
#define SORT_MOVES(bits) (SORT_IS_SPECIAL(bits) && (is_nan(bits) ? with_nans : with_zeros))
#else
#define SORT_MOVES(bits) false
#endif
  const uint before = (uint)((size_t)to & 15) / MASU_ELEMENT_BYTES;  // keys between a multiple of 16 and the first
  const ulong tile = get_group_id(0) * (ulong)(MASU_GROUP * MASU_VECTORS * vector_keys);
  for (uint i = lid; i < 2; i += MASU_GROUP) {  // the ranks of the tile's first place and of its last
    const ulong end = tile + (ulong)(MASU_GROUP * MASU_VECTORS * vector_keys);
    const ulong first = max(tile, (ulong)before) - before;
    const ulong last = end - before < count ? end - before - 1 : count - 1;
    ends[i] = rank_at(offsets, i == 0 ? first : last, 0, MASU_VALUES - 1);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint low = ends[0];
  const uint high = ends[1];
  for (uint v = 0; v < MASU_VECTORS; ++v) {
    const ulong place = tile + (ulong)(v * MASU_GROUP + lid) * vector_keys;  // counted from the multiple of 16
    if (place >= count + before) break;
    const bool whole = place >= before && place - before + vector_keys <= count;
    const ulong begin = max(place, (ulong)before) - before;
    const ulong end = place + vector_keys - before < count ? place + vector_keys - before : count;
    uint rank = rank_at(offsets, begin, low, high);
    uint bits = bits_of_rank(rank, flip);
    if (whole && (rank == high || offsets[rank + 1] >= end) && !SORT_MOVES(bits)) {
      uint word = bits;
#if MASU_ELEMENT_BYTES == 1
      word |= word << 8;
#endif
      word |= word << 16;
      uint4 vector;
      vector.x = word;
      vector.y = word;
      vector.z = word;
      vector.w = word;
      *(__global uint4 *)(to + begin) = vector;
    } else {
      for (ulong p = begin; p < end; ++p) {
        if (rank < high && offsets[rank + 1] <= p) {
          rank = rank_at(offsets, p, rank + 1, high);
          bits = bits_of_rank(rank, flip);
        }
        to[p] = SORT_MOVES(bits) ? SORT_AT(const MASU_ELEMENT, moved_at)[p] : (MASU_ELEMENT)bits;
      }
    }
  }
}

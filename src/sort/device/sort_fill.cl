// SPDX-License-Identifier: Apache-2.0
// Sorted keys of 8 or 16 bits from how often each occurs, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++):
//   sort_offsets  where the keys of each value begin
//   sort_fill     writes every place's key; zeros and NaNs that move have been brought to their places from `moved_at` on
// sort_key.cl, group_scan.cl, sort_lists.cl, sort_special.cl and sort_marks.cl stand in front of this file.
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
enum { tile_keys = MASU_GROUP * places_each };
enum { begins_together = 8 };  // that a work-item reads at once

// The rank of a place: the last one whose keys begin there or before; empty ones after it begin later. Each step leaves as many
// as one of the work-items has looked at.
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

// A work-group writes a tile from a multiple of 16 bytes on; the first and the last vector of all may stand out, and are
// written key by key.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 6) void sort_fill(__global uchar *sorted, const ulong sorted_at,
                                                        __global const uchar *restrict workspace, const ulong offsets_at,
                                                        const ulong header_at, const ulong moved_at, const ulong count,
                                                        const uint flip, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  const uint lid = (uint)get_local_id(0);
  const bool with_zeros = MASU_FLOAT && zeros_move(SORT_AT(const uint, header_at));
  const bool with_nans = MASU_FLOAT && moved_nans(SORT_AT(const uint, header_at)) != 0;
#define SORT_MOVES(bits) (SORT_IS_SPECIAL(bits) && (is_nan(bits) ? with_nans : with_zeros))
  // Places of a tile count from its multiple of 16 bytes on; of the first one so many are not to be written.
  const uint before = (uint)((size_t)(sorted + sorted_at) & 15) / MASU_ELEMENT_BYTES;
  const ulong begin = get_group_id(0) * (ulong)tile_keys;
  const ulong end = min(begin + tile_keys, count + before);
  if (begin >= end) return;
  const uint skipped = get_group_id(0) == 0 ? before : 0;
  const uint places = (uint)(end - begin);
  const ulong first = begin + skipped - before;  // the key at place `skipped`
  __local ushort *const marks = (__local ushort *)local_memory;
  __local uint *const partial = (__local uint *)(marks + tile_keys);
  __global const ulong *const offsets = SORT_AT(const ulong, offsets_at);
  const uint low = find_rank(offsets, first, partial, lid);
  // No place is marked where all have one value.
  const uint marked = offsets[low + 1] - first + skipped >= places ? 0 : places;
  const uint none[4] = {0, 0, 0, 0};
  for (uint i = lid; i < (marked + places_each - 1) / places_each * (places_each / 8); i += MASU_GROUP) {
    local_memory[i] = vector_of(none);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // Most tiles have few values; where they have many, several are read at once.
  uint together = 1;
  for (uint from = low + 1 + lid; marked != 0 && from < MASU_VALUES;) {
    ulong begins[begins_together];
    ulong ends[begins_together];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < begins_together; ++k) {
      begins[k] = ends[k] = places;
      if (k >= together || from + k * MASU_GROUP >= MASU_VALUES) continue;
      begins[k] = offsets[from + k * MASU_GROUP] - first + skipped;
      ends[k] = offsets[from + k * MASU_GROUP + 1] - first + skipped;
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < begins_together; ++k) {
      if (begins[k] < places && begins[k] != ends[k]) marks[begins[k]] = (ushort)(from + k * MASU_GROUP - low);
    }
    if ((together == 1 ? begins[0] : begins[begins_together - 1]) >= places) break;
    from += together * MASU_GROUP;
    together = begins_together;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  spread_marks(marks, marked, 0, partial, lid);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + first;
  __global const MASU_ELEMENT *const moved = SORT_AT(const MASU_ELEMENT, moved_at) + first;
  for (uint place = lid * vector_keys; place < places; place += MASU_GROUP * vector_keys) {
    const bool whole = place >= skipped && place + vector_keys <= places;
    const uint mark = marked != 0 ? marks[place] : 0;
    const uint last_mark = marked != 0 ? marks[place + vector_keys - 1] : 0;
    uint bits = bits_of_rank(low + mark, flip);
    uint words[4];
    if (whole && mark == last_mark && !SORT_MOVES(bits)) {
      words[0] = MASU_ELEMENT_BYTES == 1 ? bits * 0x1010101U : bits * 0x10001U;
      words[1] = words[2] = words[3] = words[0];
    } else {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < vector_keys; ++k) {
        if (k * MASU_ELEMENT_BYTES % 4 == 0) words[k * MASU_ELEMENT_BYTES / 4] = 0;
        bits = bits_of_rank(low + (marked != 0 ? marks[place + k] : 0), flip);
        if (place + k < skipped || place + k >= places) continue;
        if (SORT_MOVES(bits)) bits = moved[place + k - skipped];
        if (whole) put_part_of(words, k, MASU_ELEMENT_BYTES, bits);
        else to[place + k - skipped] = (MASU_ELEMENT)bits;
      }
    }
    if (whole) *(__global uint4 *)(to + place - skipped) = vector_of(words);
  }
}

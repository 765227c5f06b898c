// SPDX-License-Identifier: Apache-2.0
// Where the keys of each value of 8 or 16 bits begin, from how often each occurs, in OpenCL C 1.2 (and, after the CUDA prelude,
// in CUDA C++). sort_key.cl, group_scan.cl and sort_lists.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_counting.cpp gives.

enum { summed_together = 16 };  // counts that a work-item reads at once

// offsets[r] is how many keys come before those of rank r; offsets[MASU_VALUES] is all. Each work-group scans MASU_GROUP
// counts, and sums all before them by itself: they are few, and no group waits for another.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_offsets(__global uchar *workspace, const ulong counts_at,
                                                       const ulong offsets_at, const ulong header_at,
                                                       const ulong count, const uint flip, __local ulong *sums) {
  MASU_LOCAL_POINTER(ulong, sums);
  __global const ulong *const counts = (__global const ulong *)(workspace + counts_at);
  const uint lid = (uint)get_local_id(0);
  const uint first = (uint)get_group_id(0) * MASU_GROUP;
  __global ulong *const offsets = (__global ulong *)(workspace + offsets_at);
  ulong before = 0;
  for (uint from = lid; from < first; from += summed_together * MASU_GROUP) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < summed_together; ++k) {
      const uint rank = from + k * MASU_GROUP;
      before += rank < first ? counts[bits_of_rank(rank, flip)] : 0;
    }
  }
  const uint bits = bits_of_rank(first + lid, flip);
  const ulong own = counts[bits];
  __local ulong *const totals = sums + MASU_GROUP;
  sums[lid] = own;
  totals[lid] = before;
  MASU_LOCAL_SUMS_AND_TOTAL(ulong, sums, totals, MASU_GROUP, lid)
  const ulong end = totals[lid] + sums[lid];
  const ulong begin = end - own;
  offsets[first + lid] = begin;
  if (first + lid == MASU_VALUES - 1) offsets[MASU_VALUES] = end;
#if MASU_FLOAT
  // What sort_special.cl has to know. NaNs are the first or the last ones.
  __global uint *const header = SORT_AT(uint, header_at);
  const bool descends = flip != 0;
  if (bits == 0) {
    header[header_zeros] = (uint)own;
    header[header_listed_zeros] = 0;
    header[header_listed_zeros + 1] = 0;
    header[header_unlisted] = 1;
  }
  if (bits == MASU_SIGN) header[header_minuses] = (uint)own;
  if (bits == (descends ? MASU_SIGN : 0)) header[header_zero_end] = (uint)end;
  if (bits == MASU_INFINITY_BITS) header[header_nans] = (uint)(descends ? begin : count - end);
  if ((bits & (MASU_SIGN - 1)) > MASU_INFINITY_BITS && own != 0 && (descends ? begin == 0 : end == count)) {
    header[header_one_nan] = (uint)own;
  }
#endif
}

// SPDX-License-Identifier: Apache-2.0
// Distinct values of 8 or 16 bits from how often each pattern occurs, in OpenCL C 1.2 (and, after the CUDA prelude, in
// CUDA C++). After elements.cl and group_scan.cl. kernels.md has the parameters, which unique_plan.cpp gives.

// Patterns of NaNs of one sign. In order, all NaNs are the last.
#define UNIQUE_NANS (MASU_FLOAT ? MASU_SIGN - 1 - MASU_INFINITY_BITS : 0)
// The pattern that is `rank`-th in ascending order.
inline uint pattern_at(const uint rank) {
#if MASU_FLOAT
  const uint turned = (rank + UNIQUE_NANS) & MASU_ALL_BITS;
  return (turned & MASU_SIGN) != 0 ? turned ^ MASU_SIGN : turned ^ MASU_ALL_BITS;
#else
  return MASU_SIGNED ? rank ^ MASU_SIGN : rank;
#endif
}

// The patterns that occur become the values, in order, and their counts the lengths where they are wanted. In `number` how
// many values there are; of floats in the next one, whether some value has several patterns, zeros or NaNs, which is then
// in the results several times. Each work-group has MASU_GROUP ranks, and looks at all in front of them by itself: they
// are few, and no group waits for another.
__kernel MASU_WORK_GROUP(MASU_GROUP) void unique_patterns(__global const uchar *counted, const ulong counts_at,
                                                          __global uchar *values, const ulong values_at,
                                                          __global uchar *lengths, const ulong lengths_at,
                                                          const uint with_lengths, __global uchar *number,
                                                          const ulong number_at, __local uint *partial) {
  MASU_LOCAL_POINTER(uint, partial);  // MASU_GROUP
  __global const ulong *const counts = (__global const ulong *)(counted + counts_at);
  const uint lid = (uint)get_local_id(0);
  const uint first = (uint)get_group_id(0) * MASU_GROUP;
  uint mine = 0;
  for (uint rank = lid; rank < first; rank += MASU_GROUP) mine += counts[pattern_at(rank)] != 0 ? 1 : 0;
  uint before;
  group_scan(mine, MASU_GROUP, partial, lid, &before);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint pattern = pattern_at(first + lid);
  const ulong count = counts[pattern];
  uint all;
  const uint place = before + group_scan(count != 0 ? 1 : 0, MASU_GROUP, partial, lid, &all) - 1;
  if (count != 0) {
    ((__global MASU_ELEMENT *)(values + values_at))[place] = (MASU_ELEMENT)pattern;
    if (with_lengths != 0) ((__global ulong *)(lengths + lengths_at))[place] = count;
  }
  if (first + MASU_GROUP != MASU_PATTERNS) return;
  __global ulong *const found = (__global ulong *)(number + number_at);
  if (lid == 0) found[0] = before + all;
#if MASU_FLOAT
  barrier(CLK_LOCAL_MEM_FENCE);
  uint nans = 0;
  for (uint i = lid; i < 2 * UNIQUE_NANS; i += MASU_GROUP) nans += counts[pattern_at(MASU_PATTERNS - 1 - i)] != 0 ? 1 : 0;
  group_scan(nans, MASU_GROUP, partial, lid, &all);
  if (lid == 0) found[1] = all > 1 || (counts[0] != 0 && counts[MASU_SIGN] != 0) ? 1 : 0;
#endif
}

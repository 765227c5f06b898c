// SPDX-License-Identifier: Apache-2.0
// Prefix sums over a work-group, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).

// Joins each of the `size` values, a power of two, with all in front of it, by as many work-items; a barrier comes first
// and last. JOIN(earlier, later) of two values of type T.
#define MASU_LOCAL_PREFIXES(T, values, size, lid, JOIN)              \
  barrier(CLK_LOCAL_MEM_FENCE);                                      \
  for (uint distance = 1; distance < (size); distance *= 2) {        \
    const T last = (values)[lid];                                    \
    const T sum = lid >= distance ? JOIN((values)[lid - distance], last) : last; \
    barrier(CLK_LOCAL_MEM_FENCE);                                    \
    (values)[lid] = sum;                                             \
    barrier(CLK_LOCAL_MEM_FENCE);                                    \
  }
#define MASU_SUM_OF(earlier, later) ((earlier) + (later))
// Sums: each of the `size` values with all in front of it, and each of `totals` with all others.
#define MASU_LOCAL_SUMS_AND_TOTAL(T, values, totals, size, lid)      \
  barrier(CLK_LOCAL_MEM_FENCE);                                      \
  for (uint distance = 1; distance < (size); distance *= 2) {        \
    const T other = lid >= distance ? (values)[lid - distance] : 0;  \
    const T partner = (totals)[lid ^ distance];                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                    \
    (values)[lid] += other;                                          \
    (totals)[lid] += partner;                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                    \
  }

#if MASU_SHUFFLE_LANES == 32
// Each sub-group has a number, held by its last lane. Returns the sum of those of the sub-groups before this one; *total
// is the sum of all. The rest is as for group_scan().
MASU_INLINE uint sums_before_sub_group(const uint x, const uint group, __local uint *partial, const uint lid, uint *total) {
  if (lid % 32 == 31) partial[lid / 32] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint before = 0;
  uint all = 0;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < group / 32; ++i) {
    const uint one = partial[i];
    before += i < lid / 32 ? one : 0;
    all += one;
  }
  *total = all;
  return before;
}
#endif

// The sum of the x of the `group` work-items up to this one; *total is that of all. `group`, a constant, is a power of
// two; `partial` holds as many words, which are free again after the next barrier. All work-items must come here.
MASU_INLINE uint group_scan(const uint x, const uint group, __local uint *partial, const uint lid, uint *total) {
#if MASU_SHUFFLE_LANES == 32
  if (group >= 32) {
    const uint sum = masu_scan_lanes(x);
    return sums_before_sub_group(sum, group, partial, lid, total) + sum;
  }
#endif
  partial[lid] = x;
  MASU_LOCAL_PREFIXES(uint, partial, group, lid, MASU_SUM_OF)
  *total = partial[group - 1];
  return partial[lid];
}

// Counters of tiles, three of each, in turns: one is counted in and read between two barriers, while that of the next turn
// but one is cleared: all work-items have passed the last barrier, and none comes to it before the next one.
inline uint next_turn(const uint turn) { return turn == 2 ? 0 : turn + 1; }

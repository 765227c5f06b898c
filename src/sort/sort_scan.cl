// SPDX-License-Identifier: Apache-2.0
// Prefix sums over a work-group, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).

// The sum of the x of the `group` work-items up to this one; *total is that of all. `group` is a power of two from 32 on;
// `partial` holds as many words, which are free again after the next barrier.
MASU_INLINE uint scan_group(const uint x, const uint group, __local uint *partial, const uint lid, uint *total) {
#if MASU_SHUFFLE_LANES == 32
  const uint sum = masu_scan_lanes(x);
  if (lid % 32 == 31) partial[lid / 32] = sum;
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
  return before + sum;
#else
  partial[lid] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < group; distance *= 2) {
    const uint other = lid >= distance ? partial[lid - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    partial[lid] += other;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  *total = partial[group - 1];
  return partial[lid];
#endif
}

// Counters of 16 bits, two in each of `group` * `each` words, become the sums of those before: lower halves first, then
// upper ones; *total is that of all. Each work-item takes `each` words, a multiple of 4 up to 16. Returns the greatest count
// that it met. Ends with a barrier.
MASU_INLINE uint scan_counter_pairs(__local uint *counters, const uint each, const uint group, __local uint *partial,
                                    const uint lid, uint *total) {
  __local uint4 *const own = (__local uint4 *)(counters + lid * each);
  uint4 held[4];
  uint sum = 0;
  uint most = 0;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < 4; ++i) {
    if (i >= each / 4) continue;
    held[i] = own[i];
    sum += held[i].x + held[i].y + held[i].z + held[i].w;
    most = masu_max_pair(most, masu_max_pair(masu_max_pair(held[i].x, held[i].y), masu_max_pair(held[i].z, held[i].w)));
  }
  uint all;
  uint before = scan_group(sum, group, partial, lid, &all) - sum;
  before += all << 16;
  *total = (all & 0xffff) + (all >> 16);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < 4; ++i) {
    if (i >= each / 4) continue;
    uint4 sums;
    sums.x = before;
    sums.y = sums.x + held[i].x;
    sums.z = sums.y + held[i].y;
    sums.w = sums.z + held[i].z;
    before = sums.w + held[i].w;
    own[i] = sums;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return max(most & 0xffff, most >> 16);
}

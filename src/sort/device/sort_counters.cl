// SPDX-License-Identifier: Apache-2.0
// Counters of 16 bits, two a word, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). group_scan.cl stands in front
// of this file.

// The counter of a digit of 8 bits in one of 32 columns, each in a memory bank of its own: the word, and how far it is shifted.
inline uint counter_of(const uint digit, const uint column) { return (digit & 127) * 32 + column; }
inline uint upper_of(const uint digit) { return digit >> 7 << 4; }

// Where a word of counters is kept, so that values with many bits in common lie in different banks. Its own inverse.
inline uint spread_word(const uint word) { return word ^ ((word >> 5 ^ word >> 10) & 31); }

// Adds to a counter of as many as there are values. Returns what it was.
inline uint add_to_counter(const uint value, const uint number, __local uint *counters) {
  const uint upper = (value & 1) << 4;
  return atomic_add(&counters[spread_word(value >> 1)], number << upper) >> upper & 0xffff;
}

// The pairs, each in both orders, of what two counters count.
inline uint pairs_of(const uint counters) {
  return (counters & 0xffff) * (counters & 0xffff) + (counters >> 16) * (counters >> 16);
}

// Counters in `group` * `each` words become the sums of those before: lower halves first, then upper ones; *total is that of
// all. Each work-item takes `each` words, a multiple of 4 up to 16; *pairs is the sum of pairs_of() these. Returns the greatest
// count that it met. Ends with a barrier.
MASU_INLINE uint scan_counter_pairs(__local uint *counters, const uint each, const uint group, __local uint *partial,
                                    const uint lid, uint *total, uint *pairs) {
  __local uint4 *const own = (__local uint4 *)(counters + lid * each);
  uint4 held[4];
  uint sum = 0;
  uint most = 0;
  *pairs = 0;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < 4; ++i) {
    if (i >= each / 4) continue;
    held[i] = own[i];
    sum += held[i].x + held[i].y + held[i].z + held[i].w;
    *pairs += pairs_of(held[i].x) + pairs_of(held[i].y) + pairs_of(held[i].z) + pairs_of(held[i].w);
    most = masu_max_pair(most, masu_max_pair(masu_max_pair(held[i].x, held[i].y), masu_max_pair(held[i].z, held[i].w)));
  }
  uint all;
  uint before = group_scan(sum, group, partial, lid, &all) - sum;
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

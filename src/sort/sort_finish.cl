// SPDX-License-Identifier: Apache-2.0
// The small buckets of sort_buckets.cl, each sorted by a work-group in local memory, in OpenCL C 1.2 (and, behind the CUDA
// prelude, in CUDA C++). Equal keys may change places. sort_key.cl and sort_rank.cl stand in front of this file.
//
// Defines beside those of these, all given by sort_buckets.cpp:
#ifndef MASU_BIN_MOST         // keys that may share a bin
#error "MASU_BIN_MOST is not defined"
#endif

// In the third word of an entry: see bucket_finish.
#define MASU_OTHER 0x80000000U
#define MASU_ROLLED _Pragma("unroll 1")

// Bins by 13 bits: two counters of 16 bits a word.
#define MASU_BINS (2 * MASU_COUNTERS)
inline uint bin_begin(const uint bin, __local const uint *counters) {
  return counters[bin & (MASU_COUNTERS - 1)] >> (bin / MASU_COUNTERS * 16) & 0xffff;
}

// Sorts entry by entry. An entry is its first key, its keys, and the bits in which these may differ: none, and they are
// copied, with MASU_OTHER from `others`. They go into bins by the uppermost 13 of these bits, then each key finds its
// place in its bin. Where a bin is full, digit by digit instead. `sorted` may be `keys_from` or `others`.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void bucket_finish(
    __global const uchar *keys_from, const ulong keys_at, __global const uchar *others, const ulong others_at,
    __global uchar *sorted, const ulong sorted_at, __global const uchar *restrict scratch, const ulong small_at,
    const uint flip, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const counters = (__local uint *)local_memory;
  __local MASU_KEY *const staging = (__local MASU_KEY *)(counters + MASU_COUNTERS);
  __local uint *const partial = counters + MASU_COUNTERS + MASU_STAGING_WORDS;
  __local uint *const full = partial + MASU_GROUP * 17 / 16 + 63;
  const uint lid = (uint)get_local_id(0);
  const size_t entry = get_group_id(0);
  __global const uint *const row = MASU_AT(const uint, small_at) + 3 * entry;
  const size_t first = row[0];
  const uint size = row[1];
  const uint bits = row[2] & ~MASU_OTHER;
  __global const MASU_KEY *const from =
      (row[2] & MASU_OTHER) != 0 ? (__global const MASU_KEY *)(others + others_at) + first
                                 : (__global const MASU_KEY *)(keys_from + keys_at) + first;
  __global MASU_KEY *const to = (__global MASU_KEY *)(sorted + sorted_at) + first;
  MASU_KEY keys[MASU_ITEMS];
  uint ranks[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    keys[i] = place < size ? from[place] : 0;
  }
  if (bits == 0 || size == 1) {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = i * MASU_GROUP + lid;
      if (place < size) to[place] = keys[i];
    }
    return;
  }
  const uint shift = max(bits, 13U) - 13;
  const MASU_WIDE turned = flip != 0 ? MASU_ALL : 0;  // greater keys become the lesser ones
  clear_counters(counters, lid);
  if (lid == 0) *full = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    ranks[i] = 0;
    if (i * MASU_GROUP + lid < size) {
      const uint bin = (uint)((ordered_key(keys[i]) ^ turned) >> shift) & (MASU_BINS - 1);
      const uint upper = bin / MASU_COUNTERS * 16;
      const uint old = atomic_add(&counters[bin & (MASU_COUNTERS - 1)], 1U << upper) >> upper & 0xffff;
      if (old >= MASU_BIN_MOST && shift != 0) *full = 1;
      ranks[i] = old | bin << 16;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  scan_counters(counters, partial, lid);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      ranks[i] += bin_begin(ranks[i] >> 16, counters);
      staging[ranks[i] & 0xffff] = keys[i];
    }
  }
  const bool by_digits = *full != 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!by_digits && shift != 0) {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        const uint bin = ranks[i] >> 16;
        const uint here = ranks[i] & 0xffff;
        uint place = bin_begin(bin, counters);
        const uint end = bin == MASU_BINS - 1 ? size : bin_begin(bin + 1, counters);
        if (end - place > 1) {
          const MASU_WIDE own = ordered_key(keys[i]) ^ turned;
          const uint begin = place;
          MASU_ROLLED
          for (uint k = begin; k < end; ++k) {
            const MASU_WIDE other = ordered_key(staging[k]) ^ turned;
            place += other < own || (other == own && k < here) ? 1 : 0;
          }
        }
        ranks[i] = place;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) staging[ranks[i]] = keys[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (by_digits) {
    const uint own = lid % MASU_COLUMNS * (MASU_ROWS * MASU_ITEMS) + lid / MASU_COLUMNS * MASU_ITEMS;
    for (uint digit_shift = 0; digit_shift < bits; digit_shift += 8) {
      MASU_UNROLLED
      for (uint i = 0; i < MASU_ITEMS; ++i) keys[i] = own + i < size ? staging[own + i] : 0;
      rank_keys(keys, digit_shift, flip, own, size, ranks, counters, partial, lid);
      barrier(CLK_LOCAL_MEM_FENCE);
      MASU_UNROLLED
      for (uint i = 0; i < MASU_ITEMS; ++i) {
        if (own + i < size) staging[ranks[i]] = keys[i];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) to[place] = staging[place];
  }
}

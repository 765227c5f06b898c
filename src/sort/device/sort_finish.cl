// SPDX-License-Identifier: Apache-2.0
// The small buckets of sort_crowded.cl, and those of sort_keys.cl whose bins are too full, each sorted by a work-group in local
// memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). Equal keys may change places. sort_key.cl,
// sort_placed.cl and sort_rank.cl stand in front of this file.
//
// Defines beside those of these, all given by sort_keys_plan.cpp:
// - MASU_BIN_MOST     keys that may share a bin
// - MASU_STAGED_BINS  1: there is local memory to keep the bin of each key beside it

// Bins by 13 bits: two counters of 16 bits a word.
enum { bin_count = 2 * counter_words };
#define MASU_SETTLED 0x80000000U  // beside a bin: its keys are equal
inline uint bin_of(const uint rank) { return rank >> 16 & (bin_count - 1); }
inline uint bin_begin(const uint bin, __local const uint *counters) {
  return counters[bin & (counter_words - 1)] >> (bin / counter_words * 16) & 0xffff;
}
inline uint bin_end(const uint bin, const uint size, __local const uint *counters) {
  return bin == bin_count - 1 ? size : bin_begin(bin + 1, counters);
}
// Counts a key in its bin. The number of those that came before it there.
inline uint count_in_bin(const uint bin, __local uint *counters) {
  const uint upper = bin / counter_words * 16;
  return atomic_add(&counters[bin & (counter_words - 1)], 1U << upper) >> upper & 0xffff;
}

inline uint width_of(const MASU_BITS bits) { return (uint)(8 * sizeof(MASU_BITS)) - (uint)clz(bits); }

// Sorts an entry: its first key, its keys, and the bits in which these may differ: none, and they are copied. With MASU_OTHER
// they are in `others`. They go into bins by the uppermost 13 of these bits. While a bin is full, those
// of its keys go into as many bins as it has keys, by the uppermost bits in which they do differ. Then each key finds its
// place in its bin.
MASU_INLINE void finish_entry(__global const uint *row, __global uchar *sorted, const ulong sorted_at,
                              __global const uchar *others, const ulong others_at, MASU_RESULT_BUFFERS MASU_OTHER_VALUES
                              const uint flipped, __local uint *counters, const uint lid) {
  __local MASU_ELEMENT *const staging = (__local MASU_ELEMENT *)(counters + counter_words);
  __local uint *const partial = counters + counter_words + MASU_STAGING_WORDS;
  __local uint *const full = partial + MASU_GROUP * 17 / 16 + 63;
  const size_t first = row[0];
  const uint size = row[1];
  const uint bits = row[2] & ~MASU_OTHER;
  __global const MASU_ELEMENT *const from =
      (row[2] & MASU_OTHER) != 0 ? (__global const MASU_ELEMENT *)(others + others_at) + first
                                 : (__global const MASU_ELEMENT *)(sorted + sorted_at) + first;
#if MASU_PACKED
  __global Result *const to = (__global Result *)(result + result_at) + first;
#else
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + first;
#endif
  const Source flip = flipped != 0 ? MASU_SOURCE_ALL_BITS : 0;
#if MASU_PAYLOAD_BYTES > 0
  __global const MASU_VALUE *const values_from =
      (row[2] & MASU_OTHER) != 0 ? (__global const MASU_VALUE *)(other_values + other_values_at) + first
                                 : (__global const MASU_VALUE *)(moved + moved_at) + first;
  __global MASU_VALUE *const values_to = (__global MASU_VALUE *)(moved + moved_at) + first;
#endif
  MASU_ELEMENT keys[MASU_ITEMS];
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
      if (place < size) {
        to[place] = MASU_RESULT_OF(keys[i], flip, (__global const Source *)(source + source_at));
#if MASU_PAYLOAD_BYTES > 0
        values_to[place] = values_from[place];
#endif
      }
    }
    return;
  }
  const uint shift = max(bits, 13U) - 13;
  clear_counters(counters, lid);
  if (lid == 0) *full = 0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // the keys have been read
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    ranks[i] = 0;
    if (i * MASU_GROUP + lid < size) {
      const uint bin = (uint)(keys[i] >> shift) & (bin_count - 1);
      const uint before = count_in_bin(bin, counters);
      if (before >= MASU_BIN_MOST && shift != 0) *full = 1;
      ranks[i] = before | bin << 16 | (shift == 0 ? MASU_SETTLED : 0);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_ROLLED
  for (;;) {
    uint total;
    uint pairs;
    scan_counter_pairs(counters, counters_each, MASU_GROUP, partial, lid, &total, &pairs);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        ranks[i] += bin_begin(bin_of(ranks[i]), counters);
        staging[ranks[i] & 0xffff] = keys[i];
      }
    }
    const bool crowded = *full != 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!crowded) break;
    // What a bin's keys are, its first one and their number, before the counters are used for their widths: how many of
    // the lower bits do not agree with the first key. Bins of two keys or more begin two places or more apart.
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        const uint begin = bin_begin(bin_of(ranks[i]), counters);
        ranks[i] = begin | (bin_end(bin_of(ranks[i]), size, counters) - begin) << 16;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    clear_counters(counters, lid);
    if (lid == 0) *full = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint begin = ranks[i] & 0xffff;
      if (i * MASU_GROUP + lid < size && ranks[i] >> 16 > 1) {
        atomic_max(&counters[begin / 2], width_of(keys[i] ^ staging[begin]));
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        const uint begin = ranks[i] & 0xffff;
        const uint in_bin = ranks[i] >> 16;
        const uint parts = 31 - (uint)clz(in_bin);
        const uint width = in_bin > 1 ? counters[begin / 2] : 0;
        const uint part_shift = max(width, parts) - parts;
        const uint part = (uint)(keys[i] >> part_shift) & ((1U << min(width, parts)) - 1);
        ranks[i] = (begin + part) << 16 | (part_shift == 0 ? MASU_SETTLED : 0);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    clear_counters(counters, lid);
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        const uint before = count_in_bin(bin_of(ranks[i]), counters);
        if (before >= MASU_BIN_MOST && (ranks[i] & MASU_SETTLED) == 0) *full = 1;
        ranks[i] |= before;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  // Neighbours that rank neighbouring keys take as long as each other: they are in one bin, or in bins as large.
#if MASU_STAGED_BINS
  __local ushort *const bins = (__local ushort *)(full + 1);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) bins[ranks[i] & 0xffff] = (ushort)(ranks[i] >> 16);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  uint places[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
#if MASU_STAGED_BINS
    const uint here = i * MASU_GROUP + lid;
    const uint rank = here < size ? (uint)bins[here] << 16 : 0;
    if (here < size) keys[i] = staging[here];
#else
    const uint here = ranks[i] & 0xffff;
    const uint rank = ranks[i];
#endif
    uint place = here;
    if (i * MASU_GROUP + lid < size && (rank & MASU_SETTLED) == 0) {
      const uint begin = bin_begin(bin_of(rank), counters);
      const uint end = bin_end(bin_of(rank), size, counters);
      if (end - begin > 1) {
        const MASU_ELEMENT own = keys[i];
        place = begin;
        MASU_ROLLED
        for (uint k = begin; k < end; ++k) {
          const MASU_ELEMENT other = staging[k];
          place += other < own || (other == own && k < here) ? 1 : 0;
        }
      }
    }
    places[i] = place;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      staging[places[i]] = keys[i];
#if MASU_STAGED_BINS && MASU_PAYLOAD_BYTES > 0
      bins[i * MASU_GROUP + lid] = (ushort)places[i];
#endif
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) {
      to[place] = MASU_RESULT_OF(staging[place], flip, (__global const Source *)(source + source_at));
    }
  }
#if MASU_PAYLOAD_BYTES > 0
  __local MASU_VALUE *const staged_values = (__local MASU_VALUE *)staging;
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
#if MASU_STAGED_BINS
    if (place < size) staged_values[bins[ranks[i] & 0xffff]] = values_from[place];
#else
    if (place < size) staged_values[places[i]] = values_from[place];
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) values_to[place] = staged_values[place];
  }
#endif
}

// Work-groups take turns at the entries, of which there are as many as *found.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void bucket_finish(
    __global uchar *sorted, const ulong sorted_at, __global const uchar *others, const ulong others_at,
    MASU_RESULT_BUFFERS MASU_OTHER_VALUES __global const uchar *restrict workspace, const ulong found_at,
    const ulong entries_at, const uint flipped, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  const uint lid = (uint)get_local_id(0);
  const uint found = MASU_AT(const uint, found_at)[0];
  for (uint entry = (uint)get_group_id(0); entry < found; entry += (uint)get_num_groups(0)) {
    finish_entry(MASU_AT(const uint, entries_at) + 3 * (size_t)entry, sorted, sorted_at, others, others_at,
                 MASU_RESULT_ARGUMENTS MASU_OTHER_VALUE_ARGUMENTS flipped, (__local uint *)local_memory, lid);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

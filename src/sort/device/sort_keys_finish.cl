// SPDX-License-Identifier: Apache-2.0
// The buckets of sort_keys.cl that a work-group can finish, each by its own, in OpenCL C 1.2 (and, after the CUDA prelude, in
// CUDA C++). sort_key.cl, sort_placed.cl, group_scan.cl, sort_counters.cl, sort_lists.cl and sort_bins.cl stand in front of
// this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

inline uint bin_of(const MASU_ELEMENT key) { return bin_at(key, 0, SORT_REST_BITS - MASU_BIN_BITS); }

#if SORT_REST_BITS == 16 && MASU_ELEMENT_BYTES == 4 && MASU_LISTED != 2  // entries have as many bits as they say
enum {
  window_keys = 9,   // keys of a bin that lie in one window
  span_keys = 17,    // keys of a bin that lie in two windows and the half between them
  value_mask = ((1U << (16 - MASU_BIN_BITS)) - 1),  // the bits of a key below its bin
  room_before = 8,      // least keys in front of a bucket's
  room_after = 192,  // room after it, for greatest keys, and for what changes places with the last ones
};
// Keys are kept as 16 bits; neighbouring halves of every second 128 bytes change places, so that windows of 16 keys that
// neighbours read lie in different banks.
inline uint kept_at(const uint i) { return i ^ (i >> 6 & 1) << 3; }
inline uint vector_at(const uint i) { return i ^ (i >> 3 & 1); }

inline void exchange(uint *a, uint *b) {
  const uint low = masu_min_pair(*a, *b);
  *b = masu_max_pair(*a, *b);
  *a = low;
}
#define SORT_X(i, k) exchange(&v[i], &v[k]);
// Sorts 16 pairs of numbers of 16 bits by M. W. Green's network (1969), of 60 exchanges.
MASU_INLINE void sort_16(uint *v) {
  SORT_X(0, 1) SORT_X(2, 3) SORT_X(4, 5) SORT_X(6, 7) SORT_X(8, 9) SORT_X(10, 11) SORT_X(12, 13) SORT_X(14, 15)
  SORT_X(0, 2) SORT_X(1, 3) SORT_X(4, 6) SORT_X(5, 7) SORT_X(8, 10) SORT_X(9, 11) SORT_X(12, 14) SORT_X(13, 15)
  SORT_X(0, 4) SORT_X(1, 5) SORT_X(2, 6) SORT_X(3, 7) SORT_X(8, 12) SORT_X(9, 13) SORT_X(10, 14) SORT_X(11, 15)
  SORT_X(0, 8) SORT_X(1, 9) SORT_X(2, 10) SORT_X(3, 11) SORT_X(4, 12) SORT_X(5, 13) SORT_X(6, 14) SORT_X(7, 15)
  SORT_X(5, 10) SORT_X(6, 9) SORT_X(3, 12) SORT_X(13, 14) SORT_X(4, 8) SORT_X(7, 11) SORT_X(1, 2)
  SORT_X(1, 4) SORT_X(7, 13) SORT_X(2, 8) SORT_X(11, 14)
  SORT_X(2, 4) SORT_X(5, 6) SORT_X(9, 10) SORT_X(11, 13) SORT_X(3, 8) SORT_X(7, 12)
  SORT_X(6, 8) SORT_X(10, 12) SORT_X(3, 5) SORT_X(7, 9)
  SORT_X(3, 4) SORT_X(5, 6) SORT_X(7, 8) SORT_X(9, 10) SORT_X(11, 12)
  SORT_X(6, 7) SORT_X(8, 9)
}
// Two vectors of 8 numbers each from two windows: pairs of one number of each, and back.
inline void pair_up(const uint a, const uint b, uint *v) {
  v[0] = (a & 0xffff) | b << 16;
  v[1] = a >> 16 | (b & 0xffff0000U);
}
inline uint lower_halves(const uint x, const uint y) { return (x & 0xffff) | y << 16; }
inline uint upper_halves(const uint x, const uint y) { return x >> 16 | (y & 0xffff0000U); }

// The upper half of each of `keys` is its place in its bin. Gives the keys of bins that windows do not sort their final
// places: such a bin has a counter for each of its values, in the memory where its keys are kept later.
MASU_INLINE void rank_values(uint *keys, __local uint *kept, __local const uint *counters, const uint size, const uint lid) {
  for (uint i = lid; i < size / 2 + 1; i += MASU_GROUP) kept[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      const uint bin = bin_of(keys[i] & 0xffff);
      const uint begin = bin_begin(bin, counters);
      if (bin_end(bin, size, counters) - begin > span_keys) {
        const uint value = (begin + 1) / 2 * 2 + (keys[i] & value_mask);
        const uint upper = (value & 1) << 4;
        const uint rank = atomic_add(&kept[value / 2], 1U << upper) >> upper & 0xffff;
        keys[i] = (keys[i] & 0xffff) | rank << 16;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      const uint bin = bin_of(keys[i] & 0xffff);
      const uint begin = bin_begin(bin, counters);
      if (bin_end(bin, size, counters) - begin > span_keys) {
        const uint value = keys[i] & value_mask;
        __local const uint *const words = kept + (begin + 1) / 2;
        uint before = (value & 1) != 0 ? words[value / 2] & 0xffff : 0;
        SORT_ROLLED
        for (uint word = 0; word < value / 2; ++word) before += (words[word] & 0xffff) + (words[word] >> 16);
        keys[i] += before << 16;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Sorts a bucket: into bins, then all windows of 16 keys, then those that begin in the middle of these. A bin of 9 keys or
// fewer lies in one of them; where there are larger ones, the first windows are sorted again. In place.
MASU_INLINE void finish_bucket(__global uchar *sorted, const ulong sorted_at, const uint bucket, const uint begin,
                               const uint size, const uint flipped, __local uint *counters, const uint lid) {
  __local ushort *const kept = (__local ushort *)(counters + bin_words);
  __local uint *const partial = counters + bin_words + (MASU_MOST + room_before + room_after) / 2;
  __local uint *const crowded = partial + MASU_GROUP;
  __global uint *const keys_at = (__global uint *)(sorted + sorted_at) + begin;
  const uint flip = flipped != 0 ? MASU_ALL_BITS : 0;
  const uint first = keys_at[0] & 0xffff;
  uint keys[MASU_ITEMS];
  uint differ = 0;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    keys[i] = place < size ? keys_at[place] & 0xffff : first;
    differ |= keys[i] ^ first;
  }
  for (uint i = lid; i < bin_words; i += MASU_GROUP) counters[i] = 0;
  if (lid < 2) crowded[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // the keys have been read
  // Equal keys would wait for each other at one counter.
  if (differ != 0) crowded[1] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (crowded[1] == 0) {
    for (uint i = lid; i < size; i += MASU_GROUP) keys_at[i] = natural_key(bucket << 16 | first, flip);
    return;
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      const uint bin = bin_of(keys[i]);
      keys[i] |= count_in_bin(bin, counters) << 16;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint total;
  uint comparisons;
  const uint own_most =
      scan_counter_pairs(counters, bin_words / MASU_GROUP, MASU_GROUP, partial, lid, &total, &comparisons);
  if (own_most > window_keys) atomic_max(crowded, own_most);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint most = *crowded;
  if (most > span_keys) rank_values(keys, (__local uint *)kept, counters, size, lid);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      const uint bin = bin_of(keys[i] & 0xffff);
      const uint place = bin_begin(bin, counters) + (keys[i] >> 16);
      kept[kept_at(room_before + place)] = (ushort)keys[i];
    }
  }
  for (uint i = lid; i < room_before; i += MASU_GROUP) kept[kept_at(i)] = 0;
  for (uint i = lid; i < room_after - 16; i += MASU_GROUP) kept[kept_at(room_before + size + i)] = 0xffff;
  barrier(CLK_LOCAL_MEM_FENCE);
  // Each work-item takes two windows at once, one of either half of all.
  const uint pairs = ((size + 31) / 16 / 2 + 4) / 4 * 4;
  __local uint4 *const vectors = (__local uint4 *)kept;
  SORT_ROLLED
  for (uint round = 0; round < (most > window_keys ? 3U : 2U); ++round) {
    SORT_ROLLED
    for (uint window = lid; window < pairs; window += MASU_GROUP) {
      const uint at = 1 + 2 * window + (round & 1);
      const uint other = at + 2 * pairs;
      uint a[8];
      uint b[8];
      words_of_vector(vectors[vector_at(at)], a);
      words_of_vector(vectors[vector_at(at + 1)], a + 4);
      words_of_vector(vectors[vector_at(other)], b);
      words_of_vector(vectors[vector_at(other + 1)], b + 4);
      uint v[16];
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < 8; ++k) pair_up(a[k], b[k], v + 2 * k);
      sort_16(v);
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < 8; ++k) {
        a[k] = lower_halves(v[2 * k], v[2 * k + 1]);
        b[k] = upper_halves(v[2 * k], v[2 * k + 1]);
      }
      vectors[vector_at(at)] = vector_of(a);
      vectors[vector_at(at + 1)] = vector_of(a + 4);
      vectors[vector_at(other)] = vector_of(b);
      vectors[vector_at(other + 1)] = vector_of(b + 4);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) keys_at[place] = natural_key(bucket << 16 | kept[kept_at(room_before + place)], flip);
  }
}

#define SORT_FINISH(bucket, begin, size) \
  finish_bucket(sorted, sorted_at, bucket, begin, size, flipped, (__local uint *)local_memory, lid)

#else
// Sorts a bucket. `bits`: the bits in which the keys differ, and SORT_OTHER where they are in `others`, and their values in
// `other_values`. What is sorted goes to the result.
MASU_INLINE void finish_bucket(__global uchar *sorted, const ulong sorted_at, __global const uchar *others,
                               const ulong others_at, SORT_RESULT_BUFFERS SORT_OTHER_VALUES const uint begin, const uint size,
                               const uint bits, const uint flipped, __local uint *memory, const uint lid) {
  const uint shift = max(bits & ~SORT_OTHER, (uint)MASU_BIN_BITS) - MASU_BIN_BITS;
  const bool other = (bits & SORT_OTHER) != 0;
  __global const MASU_ELEMENT *const from =
      (__global const MASU_ELEMENT *)(other ? others + others_at : sorted + sorted_at) + begin;
  MASU_ELEMENT keys[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    keys[i] = place < size ? from[place] : 0;
  }
  for (uint i = lid; i < bin_words; i += MASU_GROUP) memory[i] = 0;
  if (lid < 4) bin_found(memory)[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // the keys have been read
#if MASU_PACKED
  __global Result *const to = (__global Result *)(result + result_at) + begin;
#else
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + begin;
#endif
#if MASU_PAYLOAD_BYTES > 0
  __global uchar *const values_to = moved + moved_at + begin * sizeof(MASU_VALUE);
  __global const uchar *const values_from = other ? other_values + other_values_at + begin * sizeof(MASU_VALUE) : values_to;
  __global const Source *const unsorted = (__global const Source *)(source + source_at);
#else
  __global const Source *const unsorted = 0;
#endif
  finish_keys(keys, from, to, MASU_VALUES(values_from, values_to) unsorted, 0, shift, size,
              flipped != 0 ? SORT_SOURCE_ALL_BITS : 0, memory, lid);
}
#define SORT_FINISH(bucket, begin, size) SORT_FINISH_BITS(begin, size, SORT_REST_BITS)
#define SORT_FINISH_BITS(begin, size, bits)                                                                     \
  finish_bucket(sorted, sorted_at, others, others_at, SORT_RESULT_ARGUMENTS SORT_OTHER_VALUE_ARGUMENTS begin, size, bits, \
                flipped, (__local uint *)local_memory, lid)
#endif

// `list_at` and `listed_at`: a list, and how much it holds.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void keys_finish(
    __global uchar *sorted, const ulong sorted_at, __global const uchar *others, const ulong others_at,
    SORT_RESULT_BUFFERS SORT_OTHER_VALUES __global uchar *workspace, const ulong counts_at, const ulong starts_at,
    const ulong list_at, const ulong listed_at, const uint flipped,
    __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  const uint lid = (uint)get_local_id(0);
#if MASU_LISTED
  const uint listed = SORT_AT(const uint, listed_at)[0];
  for (uint i = (uint)get_group_id(0); i < listed; i += (uint)get_num_groups(0)) {
#if MASU_LISTED == 2
    __global const uint *const entry = SORT_AT(const uint, list_at) + (size_t)i * 3;
    SORT_FINISH_BITS(entry[0], entry[1], entry[2]);
#else
    const uint bucket = SORT_AT(const uint, list_at)[i];
    const uint size = SORT_AT(const uint, counts_at)[bucket];
    const uint begin = SORT_AT(const uint, starts_at)[bucket] - size;  // it has moved with each key
    SORT_FINISH(bucket, begin, size);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#else
  const uint bucket = (uint)get_group_id(0);
  const uint first = bucket << MASU_JOIN_BITS;
  const uint begin = SORT_AT(const uint, starts_at)[first] - SORT_AT(const uint, counts_at)[first];
  const uint size = SORT_AT(const uint, starts_at)[first + (1U << MASU_JOIN_BITS) - 1] - begin;
  if (size == 0 || size > MASU_MOST) return;
  SORT_FINISH(bucket, begin, size);
#endif
}

// SPDX-License-Identifier: Apache-2.0
// Some thousands to some millions of keys alone in three launches, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++):
//   few_count   counts the keys of each bucket: of each part of the range that a sample spans
//   few_part    brings each key to its bucket
//   few_finish  sorts neighbouring buckets that a work-group holds, each in local memory
// Equal keys may change places, where nobody can see it. Where a bucket has too many keys, keys crowd, or zeros of both signs or
// NaNs are there, few_part moves nothing and says so: then another way sorts. No work-group waits for another. sort_key.cl,
// sort_placed.cl, group_scan.cl, sort_counters.cl and sort_bins.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_few.cpp gives.

// The words of the header: not 0 if another way sorts; its own; the least sample, how far differences to it are shifted, and
// which special values there are.
enum {
  few_left = 0,
  few_lowest = 2,
  few_shift = 3,
  few_specials = 4,
};

enum { buckets_each = MASU_BINS / MASU_GROUP };  // buckets of a work-item: a multiple of 4

// The uppermost 32 bits of a key, by which it goes into a bucket.
inline uint head_of(const MASU_ELEMENT key) { return (uint)(key >> (8 * MASU_ELEMENT_BYTES - 32)); }
inline uint bucket_of(const uint head, const uint lowest, const uint shift) {
  const uint above = head - lowest;
  return above > ~lowest ? 0 : min(above >> shift, (uint)MASU_BINS - 1);  // what is lower has wrapped
}
// 1, 2 and 4: a zero, a negative zero, a NaN.
inline uint special_of(const MASU_ELEMENT bits) {
  return !SORT_IS_SPECIAL(bits) ? 0 : is_nan(bits) ? 4 : bits == 0 ? 1 : 2;
}

// The least and the greatest x of all work-items. Two words of `found` are all bits and 0 at the start, which a barrier has
// followed; it ends with a barrier.
MASU_INLINE void span_of(const uint least, const uint greatest, __local uint *found, const uint lid) {
#if MASU_SHUFFLE_LANES == 32
  const uint low = ~masu_last_lane(masu_max_lanes(~least));
  const uint high = masu_last_lane(masu_max_lanes(greatest));
  if (lid % 32 != 0) {
  } else
#else
  const uint low = least;
  const uint high = greatest;
  (void)lid;
#endif
  {
    atomic_min(&found[0], low);
    atomic_max(&found[1], high);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
// How far numbers from 0 to `span` are shifted to be less than `bins`, a power of two.
inline uint shift_of(const uint span, const uint bins) {
  return 32 - clz(span / bins);
}

// Each work-group takes `tile` keys. `totals`: how many keys each bucket has, zeros at the start; `shares`: of each
// work-group and bucket, how many keys it has, and, in the upper bits, how many others of the bucket come before them, or as
// many as these bits say at most: then the bucket is too large anyway.
enum { own_bits = 14 };
__kernel MASU_WORK_GROUP(MASU_GROUP) void few_count(__global const uchar *restrict keys, const ulong keys_at,
                                                    __global uchar *workspace, const ulong header_at, const ulong totals_at,
                                                    const ulong shares_at, const uint count, const uint tile,
                                                    const uint flipped, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const counters = (__local uint *)local_memory;
  __local uint *const found = counters + MASU_BINS;
  const uint lid = (uint)get_local_id(0);
  const uint group = (uint)get_group_id(0);
  const MASU_ELEMENT flip = flipped != 0 ? MASU_ALL_BITS : 0;
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys + keys_at);
  __global uint *const header = SORT_AT(uint, header_at);
  for (uint i = lid; i < MASU_BINS; i += MASU_GROUP) counters[i] = 0;
  if (lid < 2) found[lid] = lid == 0 ? 0xffffffffU : 0;
  // The same sample in each work-group: a key of each work-item.
  const uint stride = count / MASU_GROUP;
  const uint sample = head_of(upper_key(from[stride == 0 ? lid % count : lid * stride + lid * 40503U % stride], flip));
  barrier(CLK_LOCAL_MEM_FENCE);
  span_of(sample, sample, found, lid);
  // A little more on either side: what lies beyond goes into the first bucket and the last one.
  const uint margin = (found[1] - found[0]) / 32;
  const long below = (long)found[0] - (long)margin;
  const long above = (long)found[1] + (long)margin;
  const uint lowest = below < 0 ? 0 : (uint)below;
  const uint shift = shift_of((uint)min(above, (long)0xffffffffU) - lowest, MASU_BINS);
  if (group == 0 && lid == 0) {
    header[few_lowest] = lowest;
    header[few_shift] = shift;
  }
  const uint begin = group * tile;
  const uint size = min(tile, count - begin);
  uint specials = 0;
  MASU_ELEMENT held[MASU_LOADS];
  MASU_UNROLLED
  for (uint k = 0; k < MASU_LOADS; ++k) {
    const uint place = k * MASU_GROUP + lid;
    if (place < size) held[k] = from[begin + place];
  }
  MASU_UNROLLED
  for (uint k = 0; k < MASU_LOADS; ++k) {
    if (k * MASU_GROUP + lid < size) {
      specials |= special_of(held[k]);
      atomic_inc(&counters[bucket_of(head_of(upper_key(held[k], flip)), lowest, shift)]);
    }
  }
  if (specials != 0) atomic_or(&header[few_specials], specials);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lid; i < MASU_BINS; i += MASU_GROUP) {
    const uint own = counters[i];
    const uint before = own == 0 ? 0 : atomic_add(&SORT_AT(uint, totals_at)[i], own);
    SORT_AT(uint, shares_at)[(size_t)group * MASU_BINS + i] = own | min(before, 0xffffffffU >> own_bits) << own_bits;
  }
}

// Keys that share buckets more often are left: their bins would be full.
enum { most_fuller = 16 };

// With the same tiles, which are put in order in local memory first. A bucket of more than `most` keys is too large. Bucket by
// bucket, keys are joined to parts: part i begins with the first bucket that begins at place i * `part` or after it.
__kernel MASU_WORK_GROUP(MASU_GROUP) void few_part(__global const uchar *restrict keys, const ulong keys_at,
                                                   __global uchar *workspace, const ulong parted_at, const ulong header_at,
                                                   const ulong totals_at, const ulong shares_at, const ulong begins_at,
                                                   const uint count, const uint tile, const uint most, const uint part,
                                                   const uint flipped, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const places = (__local uint *)local_memory;  // in local memory, of the next key of a bucket
  __local uint *const goes = places + MASU_BINS;             // how far from there
  __local uint *const partial = goes + MASU_BINS;
  __local uint *const found = partial + MASU_GROUP;
  __local MASU_ELEMENT *const staged = (__local MASU_ELEMENT *)(found + 4);
  const uint lid = (uint)get_local_id(0);
  const uint group = (uint)get_group_id(0);
  const MASU_ELEMENT flip = flipped != 0 ? MASU_ALL_BITS : 0;
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys + keys_at);
  __global MASU_ELEMENT *const to = SORT_AT(MASU_ELEMENT, parted_at);
  __global uint *const header = SORT_AT(uint, header_at);
  __global const uint4 *const totals = SORT_AT(const uint4, totals_at) + lid * (buckets_each / 4);
  __global const uint4 *const shares = SORT_AT(const uint4, shares_at) + ((size_t)group * MASU_GROUP + lid) * (buckets_each / 4);
  const uint begin = group * tile;
  const uint size = min(tile, count - begin);
  const uint lowest = header[few_lowest];
  const uint shift = header[few_shift];
  const uint specials = header[few_specials];
  MASU_ELEMENT held[MASU_LOADS];
  MASU_UNROLLED
  for (uint k = 0; k < MASU_LOADS; ++k) {
    const uint place = k * MASU_GROUP + lid;
    if (place < size) held[k] = from[begin + place];
  }
  uint sizes[buckets_each];
  uint mine[buckets_each];
  uint all_keys = 0;
  uint own_keys = 0;
  uint greatest = 0;
  float pairs = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < buckets_each / 4; ++k) {
    words_of_vector(totals[k], sizes + 4 * k);
    words_of_vector(shares[k], mine + 4 * k);
  }
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < buckets_each; ++k) {
    all_keys += sizes[k];
    own_keys += mine[k] & ((1U << own_bits) - 1);
    greatest = max(greatest, sizes[k]);
    pairs += (float)sizes[k] * ((float)sizes[k] - 1);
  }
  if (lid < 2) found[lid] = lid == 0 && specials >= 3 ? 1 : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (greatest > most) found[0] = 1;
  // In 64ths, how many times as full as others the bucket of a key is.
  const uint fuller = masu_sum_lanes((uint)(max(pairs, 0.0f) / (float)count / (float)count * (64.0f * MASU_BINS)));
  if (lid % MASU_SHUFFLE_LANES == 0) atomic_add(&found[1], fuller);
  uint total;
  uint begins = group_scan(all_keys, MASU_GROUP, partial, lid, &total) - all_keys;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint place = group_scan(own_keys, MASU_GROUP, partial, lid, &total) - own_keys;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < buckets_each; ++k) {
    places[buckets_each * lid + k] = place;
    goes[buckets_each * lid + k] = begins + (mine[k] >> own_bits) - place;
    place += mine[k] & ((1U << own_bits) - 1);
    if (group == 0 && sizes[k] != 0) {
      // Each part that begins where this bucket ends, and in it.
      const uint bucket_end = begins + sizes[k];
      for (uint next = begins / part + 1; next <= bucket_end / part; ++next) SORT_AT(uint, begins_at)[next] = bucket_end;
    }
    begins += sizes[k];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (group == 0 && lid == 0) {
    SORT_AT(uint, begins_at)[0] = 0;
    SORT_AT(uint, begins_at)[(count + part - 1) / part] = count;
  }
  if (found[0] != 0 || found[1] > 64 * most_fuller) {
    if (group == 0 && lid == 0) header[few_left] = 1;
    return;
  }
  MASU_UNROLLED
  for (uint k = 0; k < MASU_LOADS; ++k) {
    if (k * MASU_GROUP + lid < size) {
      const MASU_ELEMENT key = upper_key(held[k], flip);
      staged[atomic_inc(&places[bucket_of(head_of(key), lowest, shift)])] = key;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint k = 0; k < MASU_LOADS; ++k) {
    const uint i = k * MASU_GROUP + lid;
    if (i < size) {
      const MASU_ELEMENT key = staged[i];
      to[goes[bucket_of(head_of(key), lowest, shift)] + i] = key;
    }
  }
}

// A work-group for each part.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 3) void few_finish(__global uchar *workspace, const ulong parted_at,
                                                         const ulong header_at, const ulong begins_at,
                                                         __global uchar *sorted, const ulong sorted_at, const uint flipped,
                                                         __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const memory = (__local uint *)local_memory;
  __local uint *const found = bin_found(memory);
  const uint lid = (uint)get_local_id(0);
  const uint begin = SORT_AT(const uint, begins_at)[get_group_id(0)];
  const uint size = SORT_AT(const uint, begins_at)[get_group_id(0) + 1] - begin;
  if (SORT_AT(const uint, header_at)[few_left] != 0 || size == 0) return;
  __global const MASU_ELEMENT *const from = SORT_AT(const MASU_ELEMENT, parted_at) + begin;
  MASU_ELEMENT keys[MASU_ITEMS];
  uint least = 0xffffffffU;
  uint greatest = 0;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) keys[i] = from[place];
  }
  for (uint i = lid; i < bin_words; i += MASU_GROUP) memory[i] = 0;
  if (lid < 4) found[lid] = lid == 0 ? 0xffffffffU : 0;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      least = min(least, head_of(keys[i]));
      greatest = max(greatest, head_of(keys[i]));
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  span_of(least, greatest, found, lid);
  // 8 bytes: where the uppermost 32 bits are the same, by those below.
  const uint span = found[1] - found[0];
  const uint shift = MASU_ELEMENT_BYTES == 4 ? shift_of(span, bin_count)
                     : span == 0             ? 32 - MASU_BIN_BITS
                                             : 32 - clz(span) + 32 - MASU_BIN_BITS;
  finish_keys(keys, from, (__global MASU_ELEMENT *)(sorted + sorted_at) + begin, 0,
              (MASU_ELEMENT)found[0] << (8 * MASU_ELEMENT_BYTES - 32), shift, size, flipped != 0 ? MASU_ALL_BITS : 0, memory,
              lid);
}

// SPDX-License-Identifier: Apache-2.0
// Where the buckets of keys are, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++):
//   keys_count   counts the placed keys of each bucket: of each value of the uppermost bits; or, with MASU_TWO_STEPS, of
//                the uppermost 8
//   keys_parts   where the keys of each value of these 8 bits begin
//   parts_count  counts the keys of each bucket when they are parted by these
//   keys_places  where each bucket begins; lists those that the first keys_finish does not take
// sort_key.cl, sort_placed.cl, group_scan.cl, sort_lists.cl and sort_keys.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

inline uint bucket_of(const Source upper) { return (uint)(upper >> (8 * SORT_SOURCE_BYTES - MASU_BUCKET_BITS)); }

#if MASU_TWO_STEPS
// A counter for each of 256 digits in each of 32 columns of work-items.
enum { count_words = 256 * 32 };
inline void count_column(const uint digit, __local uint *counters, const uint lid) {
  atomic_inc(&counters[digit * 32 + lid % 32]);
}
// The keys of digit lid, of which there are as many as work-items.
inline uint columns_of(__local const uint *counters, const uint lid) {
  uint sum = 0;
  for (uint k = 0; k < 32; ++k) sum += counters[lid * 32 + (k + lid) % 32];
  return sum;
}
#else
enum { count_words = bucket_count / 2 };
// Placed keys are counted by their buckets, exactly.
// What runs over half of a counter goes to `totals` at once. Others may add meanwhile: fewer than the other half.
inline void settle_bucket(const uint bucket, __local uint *counters, __global uint *totals) {
  atomic_sub(&counters[spread_word(bucket >> 1)], 0x8000U << ((bucket & 1) << 4));
  if (bucket < bucket_count) atomic_add(&totals[bucket], 0x8000U);
}
inline void count_bucket(const uint bucket, const uint number, __local uint *counters, __global uint *totals) {
  const uint old = add_to_counter(bucket, number, counters);
  if (old < 0x8000 && old + number >= 0x8000) settle_bucket(bucket, counters, totals);
}
#endif

enum { met_most = 64 };  // zeros, and NaNs, that a work-group lists before it looks whether there is room
// Zeros, negative zeros and NaNs that a work-item met.
typedef struct {
  uint zeros;
  uint minuses;
  uint nans;
  uint full;  // bits: whether there was no room for a zero, and for a NaN, of this work-item
  __local uint *met;  // zeros, and NaNs, that the work-group listed or looked for room for
  __global uint *header;
  __global uint *lists;
} Specials;
inline void count_special(const Source bits, Specials *specials) {
  if (is_nan(bits)) ++specials->nans;
  else if (bits == 0) ++specials->zeros;
  else ++specials->minuses;
}
// Lists the place of a zero or NaN, as long as there is room.
inline void list_special(const Source bits, const uint place, Specials *specials) {
  const uint kind = is_nan(bits) ? 1 : 0;
  if ((specials->full >> kind & 1) != 0) return;
  // Where there are many, not each work-item adds to the word of all: that would take long.
  __global uint *const listed = &specials->header[header_listed_zeros + kind];
  const bool asks = atomic_inc(&specials->met[kind]) >= met_most && *(volatile __global uint *)listed >= MASU_MOST_LISTED;
  const uint slot = asks ? MASU_MOST_LISTED : atomic_inc(listed);
  if (slot < MASU_MOST_LISTED) specials->lists[kind * MASU_MOST_LISTED + slot] = place;
  else specials->full |= 1U << kind;
}

// `place`: of the key among all.
inline void count_key(const Source bits, const uint place, const Source flip, __local uint *counters,
                      __global uint *totals, const uint lid, Specials *specials) {
  if (SORT_IS_SPECIAL(bits)) {
    count_special(bits, specials);
    list_special(bits, place, specials);
    return;
  }
#if MASU_TWO_STEPS
  (void)totals;
  count_column((uint)(upper_key(bits, flip) >> (8 * SORT_SOURCE_BYTES - 8)), counters, lid);
#else
  (void)lid;
  count_bucket(bucket_of(upper_key(bits, flip)), 1, counters, totals);
#endif
}

enum { no_bucket = bucket_count };
#if MASU_TWO_STEPS
inline void count_vector(const uint4 vector, const uint place, const Source flip, __local uint *counters,
                         __global uint *totals, const uint lid, uint *hot, Specials *specials) {
  (void)hot;
  Source keys[source_vector];
  unpack_source(vector, keys);
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < source_vector; ++k) count_key(keys[k], place + k, flip, counters, totals, lid, specials);
}
inline void flush_bins(__local const uint *counters, __global uint *totals, const uint lid) {
  const uint sum = columns_of(counters, lid);
  if (sum != 0) atomic_add(&totals[lid], sum);
}
#else

// Counts a vector of keys; those that are special have no bucket: they add 0 to a counter that no other lane's do. Keys of
// bucket *hot are counted by one lane, where an eighth of all lanes' keys or more are in it. Where they are not, another bucket
// becomes the hot one.
#define SORT_HOT_KEYS max(source_vector * MASU_SHUFFLE_LANES / 8, source_vector)
inline void count_vector(const uint4 vector, const uint place, const Source flip, __local uint *counters,
                         __global uint *totals, const uint lid, uint *hot, Specials *specials) {
  Source keys[source_vector];
  unpack_source(vector, keys);
  uint buckets[source_vector];
  uint numbers[source_vector];
  uint own = 0;
  bool special = false;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < source_vector; ++k) {
    buckets[k] = SORT_IS_SPECIAL(keys[k]) ? 2 * lid % bucket_count : bucket_of(upper_key(keys[k], flip));
    numbers[k] = SORT_IS_SPECIAL(keys[k]) ? 0 : 1;
    special = special || SORT_IS_SPECIAL(keys[k]);
    own += buckets[k] == *hot ? numbers[k] : 0;
  }
  if (special) {
    uint kinds = 0;  // bits
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < source_vector; ++k) {
      if (!SORT_IS_SPECIAL(keys[k])) continue;
      count_special(keys[k], specials);
      kinds |= is_nan(keys[k]) ? 2 : 1;
    }
    if ((kinds & ~specials->full) != 0) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < source_vector; ++k) {
        if (SORT_IS_SPECIAL(keys[k])) list_special(keys[k], place + k, specials);
      }
    }
  }
  const uint in_hot = masu_sum_lanes(own);
  if (in_hot >= SORT_HOT_KEYS) {
    if (lid % MASU_SHUFFLE_LANES == 0) count_bucket(*hot, in_hot, counters, totals);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < source_vector; ++k) {
      if (buckets[k] != *hot && numbers[k] != 0) count_bucket(buckets[k], 1, counters, totals);
    }
    return;
  }
  *hot = masu_first_lane(buckets[0]);
  // All are added before any is looked at: an addition takes long to return.
  uint olds[source_vector];
  bool full = false;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < source_vector; ++k) {
    olds[k] = add_to_counter(buckets[k], numbers[k], counters);
  }
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < source_vector; ++k) full = full || (numbers[k] != 0 && olds[k] == 0x7fff);
  if (full) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < source_vector; ++k) {
      if (numbers[k] != 0 && olds[k] == 0x7fff) settle_bucket(buckets[k], counters, totals);
    }
  }
}

// Adds a work-group's counters to those of all.
inline void flush_bins(__local const uint *counters, __global uint *totals, const uint lid) {
  for (uint i = lid; i < count_words; i += MASU_COUNT_GROUP) {
    const uint pair = counters[spread_word(i)];
    if ((pair & 0xffff) != 0) atomic_add(&totals[2 * i], pair & 0xffff);
    if (pair >> 16 != 0) atomic_add(&totals[2 * i + 1], pair >> 16);
  }
}
#endif
inline void clear_bins(__local uint *counters, const uint lid) {
  for (uint i = lid; i < count_words; i += MASU_COUNT_GROUP) counters[i] = 0;
}

#if MASU_BY_DIGITS_TOO
// Counts the pairs of keys, one of each work-item, that share one of bucket_count bins. The counters, and `found`, are
// zeros, and the counters are again.
inline void count_pairs(const uint bin, __local uint *counters, __local uint *found) {
  const uint word = spread_word(bin >> 1);
  const uint upper = (bin & 1) << 4;
  atomic_add(found, atomic_add(&counters[word], 1U << upper) >> upper & 0xffff);
  barrier(CLK_LOCAL_MEM_FENCE);
  counters[word] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
}
// Whether keys are crowded: of a sample of one key for each work-item, the same in all work-groups, so many pairs share a bucket,
// apart, where keys are alone, from equal ones, which need no sorting then.
MASU_INLINE bool crowded(__global const Source *from, const uint count, const Source flip, const uint pairs,
                         __local uint *counters, const uint lid) {
  __local uint *const found = counters + count_words;
  const uint stride = count / MASU_COUNT_GROUP;
  const uint place = stride == 0 ? lid % count : lid * stride + lid * 40503U % stride;
  const Source key = upper_key(from[place], flip);
  if (lid < 2) found[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  count_pairs(bucket_of(key), counters, &found[0]);
#if !MASU_PACKED
#if SORT_SOURCE_BYTES == 8
  const uint word = (uint)(key >> 32) * 0x9e3779b1U + (uint)key;
#else
  const uint word = key;
#endif
  count_pairs(word * 0x85ebca6bU >> (32 - MASU_BUCKET_BITS), counters, &found[1]);
#endif
  const bool result = found[0] >= pairs + found[1];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}
#endif

// All work-groups count all keys together. Keys that are crowded, with
// `crowded_pairs` or more, are left to sort_once.cl.
__kernel MASU_WORK_GROUP(MASU_COUNT_GROUP) void keys_count(__global const uchar *restrict keys, const ulong keys_at,
                                                           __global uchar *workspace, const ulong header_at,
                                                           const ulong counts_at, const ulong listed_at,
                                                           const uint count, const uint flipped,
                                                           const uint crowded_pairs, __local uint *counters) {
  MASU_LOCAL_POINTER(uint, counters);
  const Source flip = flipped != 0 ? SORT_SOURCE_ALL_BITS : 0;
  const uint lid = (uint)get_local_id(0);
  const uint group = (uint)get_group_id(0);
  __global uint *const totals = SORT_AT(uint, counts_at);
  __global const Source *const from = (__global const Source *)(keys + keys_at);
  uint hot = no_bucket;
  Specials specials;
  specials.zeros = 0;
  specials.minuses = 0;
  specials.nans = 0;
  specials.full = 0;
  specials.met = counters + count_words + 5;  // after what crowded() needs
  specials.header = SORT_AT(uint, header_at);
  specials.lists = SORT_AT(uint, listed_at);
  clear_bins(counters, lid);
  if (lid < 2) specials.met[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_BY_DIGITS_TOO
  if (crowded(from, count, flip, crowded_pairs, counters, lid)) {
    if (get_group_id(0) == 0 && lid == 0) SORT_AT(uint, header_at)[header_by_digits] = 1;
    return;
  }
#endif
  // Keys before the first multiple of 16 bytes, and after the last one.
  const uint head = min(count, (uint)((16 - ((size_t)from & 15)) & 15) / SORT_SOURCE_BYTES);
  const uint vectors = (count - head) / source_vector;
  const uint tail = count - head - vectors * source_vector;
  if (group == 0 && lid < head + tail) {
    const uint place = lid < head ? lid : count - tail + (lid - head);
    count_key(from[place], place, flip, counters, totals, lid, &specials);
  }
  __global const uint4 *const whole = (__global const uint4 *)(from + head);
  const uint stride = (uint)get_num_groups(0) * MASU_COUNT_GROUP;
  ulong i = group * MASU_COUNT_GROUP;
  for (; i + 3 * (ulong)stride + MASU_COUNT_GROUP <= vectors; i += 4 * (ulong)stride) {
    uint4 held[4];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < 4; ++k) held[k] = masu_load_streaming(whole + i + k * (ulong)stride + lid);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < 4; ++k) {
      count_vector(held[k], head + (uint)(i + k * (ulong)stride + lid) * source_vector, flip, counters, totals, lid,
                   &hot, &specials);
    }
  }
  for (; i < vectors; i += stride) {
    const uint place = head + (uint)(i + lid) * source_vector;
    if (i + MASU_COUNT_GROUP <= vectors) {
      count_vector(masu_load_streaming(whole + i + lid), place, flip, counters, totals, lid, &hot, &specials);
    } else if (i + lid < vectors) {
      for (uint k = 0; k < source_vector; ++k) {
        count_key(from[place + k], place + k, flip, counters, totals, lid, &specials);
      }
    }
  }
#if MASU_ELEMENT_CLASS == 2
  if (specials.zeros != 0) atomic_add(&SORT_AT(uint, header_at)[header_zeros], specials.zeros);
  if (specials.minuses != 0) atomic_add(&SORT_AT(uint, header_at)[header_minuses], specials.minuses);
  if (specials.nans != 0) atomic_add(&SORT_AT(uint, header_at)[header_nans], specials.nans);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  flush_bins(counters, totals, lid);
}

#if MASU_TWO_STEPS
// One work-group of 256: where the keys of each value of the upper 8 bits begin, and their tiles. Clears the counts.
__kernel MASU_WORK_GROUP(256) void keys_parts(__global uchar *workspace, const ulong header_at, const ulong counts_at,
                                              const ulong starts_at, const uint flipped, __local uint *partial) {
  MASU_LOCAL_POINTER(uint, partial);
  const uint lid = (uint)get_local_id(0);
  __global const uint *const header = SORT_AT(const uint, header_at);
  __global uint *const starts = SORT_AT(uint, starts_at);
  const uint own = SORT_AT(uint, counts_at)[lid];
  SORT_AT(uint, counts_at)[lid] = 0;
  uint total;
  uint start = group_scan(own, 256, partial, lid, &total) - own;
  start += flipped != 0 ? header[header_nans] : 0;
  start += lid >= 128 ? header[header_zeros] + header[header_minuses] : 0;
  starts[start_cursors + lid] = start;
  starts[start_first_keys + lid] = start;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint tiles = group_scan(tiles_of(start, start + own), 256, partial, lid, &total);
  starts[start_first_tiles + 1 + lid] = tiles;
  if (lid == 0) starts[start_first_tiles] = 0;
}

// Counts the buckets of the keys that keys_first has parted: each work-group those of neighbouring tiles.
__kernel MASU_WORK_GROUP(256) void parts_count(__global const uchar *parted, const ulong parted_at,
                                               __global uchar *workspace, const ulong counts_at, const ulong starts_at,
                                               __local uint *counters) {
  MASU_LOCAL_POINTER(uint, counters);
  const uint lid = (uint)get_local_id(0);
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(parted + parted_at);
  __global const uint *const starts = SORT_AT(const uint, starts_at);
  __global const uint *const tiles = starts + start_first_tiles;
  const ulong all = tiles[256];
  const uint lo = (uint)(all * get_group_id(0) / get_num_groups(0));
  const uint hi = (uint)(all * (get_group_id(0) + 1) / get_num_groups(0));
  if (lo == hi) return;
  uint part = 0;  // the last one that begins at tile lo or before
  for (uint step = 128; step != 0; step /= 2) part += tiles[part + step] <= lo ? step : 0;
  for (uint tile = lo; tile < hi; ++part) {
    const uint part_end = min(hi, tiles[part + 1]);
    const uint begin = starts[start_first_keys + part];
    const uint base = begin / key_vector * key_vector;
    const uint first = max(begin, base + (tile - tiles[part]) * SORT_TILE);
    const uint end = min(starts[start_cursors + part], base + (part_end - tiles[part]) * SORT_TILE);
    for (uint i = lid; i < count_words; i += 256) counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = first + lid; i < end; i += 8 * 256) {
      MASU_ELEMENT keys[8];
      MASU_UNROLLED
      for (uint k = 0; k < 8; ++k) {
        if (i + k * 256 < end) keys[k] = from[i + k * 256];
      }
      MASU_UNROLLED
      for (uint k = 0; k < 8; ++k) {
        if (i + k * 256 < end) count_column((uint)(keys[k] >> SORT_REST_BITS) & ((1U << second_bits) - 1), counters, lid);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sum = columns_of(counters, lid);
    if (sum != 0) atomic_add(&SORT_AT(uint, counts_at)[(part << second_bits) + lid], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    tile = part_end;
  }
}
#endif

// Gives a bucket to the smallest of the larger work-groups of keys_finish that have room for it.
inline void list_larger(__global uchar *workspace, __global uint *header, const ulong larger_at, const uint bucket,
                        const uint size) {
  const uint which = size > MASU_LARGER_MOST_0 ? 1 : 0;
  SORT_AT(uint, larger_at)[which * bucket_count + atomic_inc(&header[header_larger + which])] = bucket;
}

// Each work-group scans as many buckets as it has work-items, and sums all before them by itself: they are few, and no group
// waits for another. Zeros lie between both halves of the buckets; NaNs after all others, or, where greater keys come first,
// in front of them.
__kernel MASU_WORK_GROUP(MASU_PLACES_GROUP) void keys_places(__global uchar *workspace, const ulong header_at,
                                                             const ulong counts_at, const ulong starts_at,
                                                             const ulong opens_at, const ulong rows_at,
                                                             const ulong tiles_at, const ulong singles_at,
                                                             const ulong larger_at, const ulong tallies_at,
                                                             const ulong huges_at, const uint tally_most,
                                                             const uint flipped, __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  const uint lid = (uint)get_local_id(0);
  const uint first = (uint)get_group_id(0) * MASU_PLACES_GROUP;
  __global uint *const header = SORT_AT(uint, header_at);
  __global const uint *const counts = SORT_AT(const uint, counts_at);
  __local uint *const totals = sums + MASU_PLACES_GROUP;
  uint before = 0;
  __global const uint4 *const fours = (__global const uint4 *)counts;
  _Pragma("unroll 16")  // many loads in flight
  for (uint i = lid; i < first / 4; i += MASU_PLACES_GROUP) {
    const uint4 four = fours[i];
    before += four.x + four.y + four.z + four.w;
  }
  const uint own = counts[first + lid];
  sums[lid] = own;
  totals[lid] = before;
  MASU_LOCAL_SUMS_AND_TOTAL(uint, sums, totals, MASU_PLACES_GROUP, lid)
  const uint nans = flipped != 0 ? header[header_nans] : 0;
  const uint zeros = first >= bucket_count / 2 ? header[header_zeros] + header[header_minuses] : 0;
  const uint bucket = first + lid;
  const uint start = totals[lid] + sums[lid] - own + nans + zeros;
  SORT_AT(uint, starts_at)[bucket] = start;
  if (!MASU_TWO_STEPS && (bucket & ((1U << second_bits) - 1)) == 0) {
    SORT_AT(uint, starts_at)[start_cursors + (bucket >> second_bits)] = start;
    SORT_AT(uint, starts_at)[start_first_keys + (bucket >> second_bits)] = start;
  }
#if MASU_TALLY
  const uint lowest = lid & ~((1U << MASU_JOIN_BITS) - 1);
  const uint joined = sums[lowest + (1U << MASU_JOIN_BITS) - 1] - (lowest == 0 ? 0 : sums[lowest - 1]);
  if (joined <= MASU_MOST) return;
  if (own <= MASU_MOST) {
    if (own != 0) SORT_AT(uint, singles_at)[atomic_inc(&header[header_singles])] = bucket;
  } else if (own <= MASU_LARGER_MOST_1) {
    list_larger(workspace, header, larger_at, bucket, own);
  } else if (own <= tally_most) {
    list_tally(workspace, header, tallies_at, start, own, 0);
  } else {
    __global uint *const huge = SORT_AT(uint, huges_at) + (size_t)atomic_inc(&header[header_huges]) * 3;
    huge[0] = start;
    huge[1] = own;
    huge[2] = bucket;
    atomic_add(&header[header_huge_keys], own);
  }
#else
  if (own > MASU_MOST && own <= MASU_LARGER_MOST_1) list_larger(workspace, header, larger_at, bucket, own);
  open_buckets(own > MASU_LARGER_MOST_1, start, own, SORT_REST_BITS, 0, workspace, header + header_levels, opens_at, rows_at,
               tiles_at, totals + MASU_PLACES_GROUP, lid, MASU_PLACES_GROUP);
#endif
}

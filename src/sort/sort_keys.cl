// SPDX-License-Identifier: Apache-2.0
// Keys alone, parted by their uppermost bits, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++):
//   keys_count   counts the placed keys of each bucket: of each value of the uppermost bits
//   keys_places  where each bucket begins; lists those that keys_finish does not take
//   keys_first   parts all keys by the upper 8 bits
//   keys_second  parts each of these parts by the other bits of the bucket
// Equal keys may change places. No work-group waits for another. sort_key.cl, sort_placed.cl, sort_scan.cl and
// sort_lists.cl stand in front of this file.
//
// Defines beside those of these, all given by sort_keys.cpp:
#ifndef MASU_GROUP            // work-items in a work-group of the partitions
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_ITEMS            // keys of a work-item of the partitions: a multiple of 4
#error "MASU_ITEMS is not defined"
#endif
#ifndef MASU_RESIDENT         // work-groups of the partitions that share a compute unit
#error "MASU_RESIDENT is not defined"
#endif
#ifndef MASU_COUNT_GROUP      // work-items in a work-group of keys_count
#error "MASU_COUNT_GROUP is not defined"
#endif
#ifndef MASU_COUNT_BINS       // buckets that a work-group of keys_count counts: a power of two
#error "MASU_COUNT_BINS is not defined"
#endif
#ifndef MASU_PLACES_GROUP     // work-items in a work-group of keys_places: a power of two
#error "MASU_PLACES_GROUP is not defined"
#endif
#ifndef MASU_MOST             // keys of a bucket that a work-group of keys_finish takes
#error "MASU_MOST is not defined"
#endif
#ifndef MASU_MIDDLE_MOST      // the same of the larger work-groups that take turns; MASU_MOST where there are none
#error "MASU_MIDDLE_MOST is not defined"
#endif
#ifndef MASU_TALLY            // 1: sort_tally.cl takes what keys_finish does not; 0: sort_crowded.cl does
#error "MASU_TALLY is not defined"
#endif
#ifndef MASU_UNROLL           // 1: loops over the keys of a work-item are unrolled, so that they lie in registers
#error "MASU_UNROLL is not defined"
#endif

#define MASU_TILE MASU_PART_TILE
#define MASU_COUNTERS 4096  // words: two counters of 16 bits, for each of 256 digits in each of 32 columns

// A processor's compiler takes long over loops that are unrolled between barriers, and gains nothing.
#if MASU_UNROLL
#define MASU_UNROLLED MASU_PRAGMA_UNROLL
#define MASU_SOME_UNROLLED _Pragma("unroll 4")
#else
#define MASU_UNROLLED _Pragma("nounroll")
#define MASU_SOME_UNROLLED _Pragma("nounroll")
#endif

#define MASU_BUCKETS (1U << MASU_BUCKET_BITS)
inline uint bucket_of(const MASU_KEY placed) { return (uint)(placed >> MASU_REST_BITS); }

// Counts placed keys by their buckets, exactly, in counters of 16 bits, two a word: what runs over half of one goes to
// `totals` at once. Others may add meanwhile: fewer than the other half.
inline void count_bucket(const uint bucket, const uint number, __local uint *counters, __global uint *totals,
                         const uint first) {
  const uint bin = bucket - first;
  if (bin >= MASU_COUNT_BINS) return;
  const uint word = spread_word(bin >> 1);
  const uint upper = (bin & 1) << 4;
  const uint old = atomic_add(&counters[word], number << upper) >> upper & 0xffff;
  if (old < 0x8000 && old + number >= 0x8000) {
    atomic_sub(&counters[word], 0x8000U << upper);
    atomic_add(&totals[bucket], 0x8000U);
  }
}

#if MASU_KEY_BYTES == 4
#define MASU_VECTOR 4  // keys of 16 bytes
#else
#define MASU_VECTOR 2
#endif
inline void unpack_vector(const uint4 vector, MASU_KEY *keys) {
#if MASU_KEY_BYTES == 4
  keys[0] = vector.x;
  keys[1] = vector.y;
  keys[2] = vector.z;
  keys[3] = vector.w;
#else
  keys[0] = vector.x | (MASU_KEY)vector.y << 32;
  keys[1] = vector.z | (MASU_KEY)vector.w << 32;
#endif
}

// Zeros, negative zeros and NaNs that a work-item met.
typedef struct {
  uint zeros;
  uint minuses;
  uint nans;
} Specials;
inline void count_special(const MASU_KEY bits, Specials *specials) {
#if MASU_KEY_CLASS == 2
  if (bits == 0) ++specials->zeros;
  else if (bits == MASU_SIGN) ++specials->minuses;
  else ++specials->nans;
#else
  (void)bits;
  (void)specials;
#endif
}

inline void count_key(const MASU_KEY bits, const MASU_KEY flip, __local uint *counters, __global uint *totals,
                      const uint first, Specials *specials) {
  if (MASU_IS_SPECIAL(bits)) count_special(bits, specials);
  else count_bucket(bucket_of(placed_key(bits, flip)), 1, counters, totals, first);
}

// Buckets of a vector of keys; those that are special have none. Keys of bucket *hot are counted by one lane, where an
// eighth of all lanes' keys or more are in it. Where they are not, another bucket becomes the hot one.
#define MASU_NO_BUCKET 0x80000000U
#define MASU_HOT_KEYS max(MASU_VECTOR * MASU_SHUFFLE_LANES / 8, MASU_VECTOR)
inline void count_vector(const uint4 vector, const MASU_KEY flip, __local uint *counters, __global uint *totals,
                         const uint first, uint *hot, Specials *specials) {
  MASU_KEY keys[MASU_VECTOR];
  unpack_vector(vector, keys);
  uint buckets[MASU_VECTOR];
  uint own = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_VECTOR; ++k) {
    buckets[k] = bucket_of(placed_key(keys[k], flip));
    if (MASU_IS_SPECIAL(keys[k])) {
      buckets[k] = MASU_NO_BUCKET;
      count_special(keys[k], specials);
    }
    own += buckets[k] == *hot ? 1 : 0;
  }
  const uint in_hot = masu_sum_lanes(own);
  if (in_hot >= MASU_HOT_KEYS) {
    if (*hot != MASU_NO_BUCKET && get_local_id(0) % MASU_SHUFFLE_LANES == 0) {
      count_bucket(*hot, in_hot, counters, totals, first);
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_VECTOR; ++k) {
      if (buckets[k] != *hot && buckets[k] != MASU_NO_BUCKET) count_bucket(buckets[k], 1, counters, totals, first);
    }
    return;
  }
  *hot = masu_first_lane(buckets[0]);
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_VECTOR; ++k) {
    if (buckets[k] != MASU_NO_BUCKET) count_bucket(buckets[k], 1, counters, totals, first);
  }
}

inline void clear_bins(__local uint *counters, const uint lid) {
  for (uint i = lid; i < MASU_COUNT_BINS / 2; i += MASU_COUNT_GROUP) counters[i] = 0;
}
// Adds a work-group's counters to those of all.
inline void flush_bins(__local const uint *counters, __global uint *totals, const uint first, const uint lid) {
  for (uint i = lid; i < MASU_COUNT_BINS / 2; i += MASU_COUNT_GROUP) {
    const uint pair = counters[spread_word(i)];
    if ((pair & 0xffff) != 0) atomic_add(&totals[first + 2 * i], pair & 0xffff);
    if (pair >> 16 != 0) atomic_add(&totals[first + 2 * i + 1], pair >> 16);
  }
}

// The words of `starts`, behind those of the buckets, for each of the upper 8 bits: where the next key goes, where the first
// key is, and how many tiles of keys_second come before.
#define MASU_CURSORS MASU_BUCKETS
#define MASU_FIRST_KEYS (MASU_BUCKETS + 256)
#define MASU_FIRST_TILES (MASU_BUCKETS + 512)
// The bits of a bucket that keys_second parts by.
#define MASU_SECOND_BITS (MASU_BUCKET_BITS - 8)

// Work-groups take turns at the ranges of buckets. All of a range count all keys together.
__kernel MASU_WORK_GROUP(MASU_COUNT_GROUP) void keys_count(__global const uchar *restrict keys, const ulong keys_at,
                                                           __global uchar *scratch, const ulong header_at,
                                                           const ulong counts_at, const uint count, const uint flipped,
                                                           __local uint *counters) {
  MASU_LOCAL_POINTER(uint, counters);
  const MASU_KEY flip = flipped != 0 ? MASU_ALL : 0;
  const uint lid = (uint)get_local_id(0);
  const uint ranges = MASU_BUCKETS / MASU_COUNT_BINS;
  const uint first = (uint)get_group_id(0) % ranges * MASU_COUNT_BINS;
  const uint group = (uint)get_group_id(0) / ranges;
  const uint groups = (uint)get_num_groups(0) / ranges;
  __global uint *const totals = MASU_AT(uint, counts_at);
  __global const MASU_KEY *const from = (__global const MASU_KEY *)(keys + keys_at);
  uint hot = MASU_NO_BUCKET;
  Specials specials;
  specials.zeros = 0;
  specials.minuses = 0;
  specials.nans = 0;
  clear_bins(counters, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  // Keys in front of the first multiple of 16 bytes, and behind the last one.
  const uint head = min(count, (uint)((16 - ((size_t)from & 15)) & 15) / MASU_KEY_BYTES);
  const uint vectors = (count - head) / MASU_VECTOR;
  const uint tail = count - head - vectors * MASU_VECTOR;
  if (group == 0 && lid < head + tail) {
    count_key(from[lid < head ? lid : count - tail + (lid - head)], flip, counters, totals, first, &specials);
  }
  __global const uint4 *const whole = (__global const uint4 *)(from + head);
  const uint stride = groups * MASU_COUNT_GROUP;
  ulong i = group * MASU_COUNT_GROUP;
  for (; i + 3 * (ulong)stride + MASU_COUNT_GROUP <= vectors; i += 4 * (ulong)stride) {
    uint4 held[4];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < 4; ++k) held[k] = masu_load_streaming(whole + i + k * (ulong)stride + lid);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < 4; ++k) count_vector(held[k], flip, counters, totals, first, &hot, &specials);
  }
  for (; i < vectors; i += stride) {
    if (i + MASU_COUNT_GROUP <= vectors) {
      count_vector(masu_load_streaming(whole + i + lid), flip, counters, totals, first, &hot, &specials);
    } else if (i + lid < vectors) {
      for (uint k = 0; k < MASU_VECTOR; ++k) {
        count_key(from[head + (uint)(i + lid) * MASU_VECTOR + k], flip, counters, totals, first, &specials);
      }
    }
  }
#if MASU_KEY_CLASS == 2
  if (first == 0) {
    if (specials.zeros != 0) atomic_add(&MASU_AT(uint, header_at)[MASU_ZEROS], specials.zeros);
    if (specials.minuses != 0) atomic_add(&MASU_AT(uint, header_at)[MASU_MINUSES], specials.minuses);
    if (specials.nans != 0) atomic_add(&MASU_AT(uint, header_at)[MASU_NANS], specials.nans);
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  flush_bins(counters, totals, first, lid);
}

// Each work-group scans as many buckets as it has work-items, and sums all before them by itself: they are few, and no group
// waits for another. Zeros lie between both halves of the buckets; NaNs behind all others, or, where greater keys come first,
// in front of them.
__kernel MASU_WORK_GROUP(MASU_PLACES_GROUP) void keys_places(__global uchar *scratch, const ulong header_at,
                                                             const ulong counts_at, const ulong starts_at,
                                                             const ulong opens_at, const ulong rows_at,
                                                             const ulong tiles_at, const ulong middle_at,
                                                             const ulong tallies_at, const ulong huges_at,
                                                             const uint tally_most,
                                                             const uint flipped, __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  const uint lid = (uint)get_local_id(0);
  const uint first = (uint)get_group_id(0) * MASU_PLACES_GROUP;
  __global uint *const header = MASU_AT(uint, header_at);
  __global const uint *const counts = MASU_AT(const uint, counts_at);
  __local uint *const totals = sums + MASU_PLACES_GROUP;
  uint before = 0;
  for (uint bucket = lid; bucket < first; bucket += MASU_PLACES_GROUP) before += counts[bucket];
  const uint own = counts[first + lid];
  sums[lid] = own;
  totals[lid] = before;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < MASU_PLACES_GROUP; distance *= 2) {
    const uint other = lid >= distance ? sums[lid - distance] : 0;
    const uint partner = totals[lid ^ distance];
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[lid] += other;
    totals[lid] += partner;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const uint nans = flipped != 0 ? header[MASU_NANS] : 0;
  const uint zeros = first >= MASU_BUCKETS / 2 ? header[MASU_ZEROS] + header[MASU_MINUSES] : 0;
  const uint bucket = first + lid;
  const uint start = totals[lid] + sums[lid] - own + nans + zeros;
  MASU_AT(uint, starts_at)[bucket] = start;
  if ((bucket & ((1U << MASU_SECOND_BITS) - 1)) == 0) {
    MASU_AT(uint, starts_at)[MASU_CURSORS + (bucket >> MASU_SECOND_BITS)] = start;
    MASU_AT(uint, starts_at)[MASU_FIRST_KEYS + (bucket >> MASU_SECOND_BITS)] = start;
  }
  if (own > MASU_MOST && own <= MASU_MIDDLE_MOST) {
    MASU_AT(uint, middle_at)[atomic_inc(&header[MASU_MIDDLE])] = bucket;
  }
#if MASU_TALLY
  else if (own > MASU_MOST && own <= tally_most) {
    list_tally(scratch, header, tallies_at, start, own, 0);
  } else if (own > MASU_MOST) {
    __global uint *const huge = MASU_AT(uint, huges_at) + (size_t)atomic_inc(&header[MASU_HUGES]) * 3;
    huge[0] = start;
    huge[1] = own;
    huge[2] = bucket;
    atomic_add(&header[MASU_HUGE_KEYS], own);
  }
#else
  open_buckets(own > MASU_MIDDLE_MOST, start, own, MASU_REST_BITS, 0, scratch, header + MASU_LEVELS, opens_at, rows_at,
               tiles_at, totals + MASU_PLACES_GROUP, lid, MASU_PLACES_GROUP);
#endif
}

inline uint digit_of(const MASU_KEY key, const uint shift) { return (uint)(key >> shift) & 255; }
// The counter of a digit in a column: the word, and whether it is the word's upper half.
inline uint counter_of(const uint digit, const uint column) { return (digit & 127) * 32 + column; }
inline uint upper_of(const uint digit) { return digit >> 7 << 4; }
// Where key i of a tile is kept, so that neighbours lie in different banks.
inline uint kept_at(const uint i) { return i ^ (i >> (MASU_KEY_BYTES == 4 ? 7 : 6) & 31); }

// Where the local memory of a partition is used for what.
#define MASU_KEPT(memory) ((__local MASU_KEY *)(memory))
#define MASU_PART_COUNTERS(memory) ((memory) + MASU_TILE * (MASU_KEY_BYTES / 4))
#define MASU_BASES(memory) (MASU_PART_COUNTERS(memory) + MASU_COUNTERS)
#define MASU_PARTIAL(memory) (MASU_BASES(memory) + 256)

inline void clear_counters(__local uint *counters, const uint lid) {
  for (uint i = lid; i < MASU_COUNTERS; i += MASU_GROUP) counters[i] = 0;
}
inline uint count_digit(const uint digit, const uint column, __local uint *counters) {
  return atomic_add(&counters[counter_of(digit, column)], 1U << upper_of(digit)) >> upper_of(digit) & 0xffff;
}
inline uint digit_begin(const uint digit, const uint column, __local const uint *counters) {
  return counters[counter_of(digit, column)] >> upper_of(digit) & 0xffff;
}
// Counters become places; `cursors` give room for the keys of each digit. Returns the keys of the tile.
MASU_INLINE uint reserve_places(__global uint *cursors, __local uint *memory, const uint lid) {
  __local uint *const counters = MASU_PART_COUNTERS(memory);
  uint size;
  scan_counter_pairs(counters, MASU_COUNTERS / MASU_GROUP, MASU_GROUP, MASU_PARTIAL(memory), lid, &size);
  for (uint digit = lid; digit < 256; digit += MASU_GROUP) {
    const uint before = digit_begin(digit, 0, counters);
    const uint behind = digit == 255 ? size : digit_begin(digit + 1, 0, counters);
    MASU_BASES(memory)[digit] = behind == before ? 0 : atomic_add(&cursors[digit], behind - before) - before;
  }
  return size;
}
// Writes a key of a tile that lies in order in local memory: neighbours of equal digits to neighbours.
inline void write_key(__global MASU_KEY *to, const uint place, const uint shift, __local uint *memory) {
  const MASU_KEY key = MASU_KEPT(memory)[kept_at(place)];
  to[MASU_BASES(memory)[digit_of(key, shift)] + place] = key;
}

// Puts the keys from[base …], a whole tile, to their places by the digit at `shift`: in local memory first, then to where
// `cursors` give room. `aligned`: it begins at a multiple of 16 bytes. `first`: the keys are as the caller has them, and zeros
// and NaNs are left out.
MASU_INLINE void part_whole(__global const MASU_KEY *from, __global MASU_KEY *to, __global uint *cursors,
                            const uint base, const uint shift, const bool aligned, const bool first,
                            const MASU_KEY flip, __local uint *memory, const uint lid) {
  __local uint *const counters = MASU_PART_COUNTERS(memory);
  const bool checked = first && MASU_KEY_CLASS == 2;
  const uint column = lid % 32;
  MASU_KEY keys[MASU_ITEMS];
  uint ranks[MASU_ITEMS / 2];
  uint moves = 0;  // a bit for each key
  if (aligned) {
    MASU_UNROLLED
    for (uint v = 0; v < MASU_ITEMS / MASU_VECTOR; ++v) {
      unpack_vector(masu_load_streaming((__global const uint4 *)(from + base) + v * MASU_GROUP + lid),
                    keys + v * MASU_VECTOR);
    }
  } else {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) keys[i] = from[base + i * MASU_GROUP + lid];
  }
  clear_counters(counters, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const bool special = checked && MASU_IS_SPECIAL(keys[i]);
    if (first) keys[i] = masu_computed(placed_key(keys[i], flip));  // fewer registers
    uint rank = 0;
    if (!special) {
      rank = count_digit(digit_of(keys[i], shift), column, counters);
      if (checked) moves |= 1U << i;
    }
    ranks[i / 2] = i % 2 == 0 ? rank : ranks[i / 2] | rank << 16;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint size = reserve_places(cursors, memory, lid);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint rank = i % 2 == 0 ? ranks[i / 2] & 0xffff : ranks[i / 2] >> 16;
    if (!checked || (moves >> i & 1) != 0) {
      MASU_KEPT(memory)[kept_at(digit_begin(digit_of(keys[i], shift), column, counters) + rank)] = keys[i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (!checked || place < size) write_key(to, place, shift, memory);
  }
}

// The same for from[lo, hi), MASU_TILE keys at most, without the zeros and NaNs. It reads the keys twice, to need few registers.
MASU_INLINE void part_some(__global const MASU_KEY *from, __global MASU_KEY *to, __global uint *cursors, const uint lo,
                           const uint hi, const uint shift, const bool first, const MASU_KEY flip,
                           __local uint *memory, const uint lid) {
  __local uint *const counters = MASU_PART_COUNTERS(memory);
  const uint column = lid % 32;
  barrier(CLK_LOCAL_MEM_FENCE);
  clear_counters(counters, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_SOME_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = lo + i * MASU_GROUP + lid;
    if (place < hi) {
      const MASU_KEY bits = from[place];
      if (!(first && MASU_IS_SPECIAL(bits))) {
        count_digit(digit_of(first ? placed_key(bits, flip) : bits, shift), column, counters);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint size = reserve_places(cursors, memory, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_SOME_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = lo + i * MASU_GROUP + lid;
    if (place < hi) {
      const MASU_KEY bits = from[place];
      if (!(first && MASU_IS_SPECIAL(bits))) {
        const MASU_KEY key = first ? placed_key(bits, flip) : bits;
        MASU_KEPT(memory)[kept_at(count_digit(digit_of(key, shift), column, counters))] = key;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_SOME_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) write_key(to, place, shift, memory);
  }
}

// Tiles of a part: they begin at multiples of 16 bytes.
inline uint part_tiles(__global const uint *starts, __global const uint *counts, const uint part) {
  const uint begin = starts[MASU_FIRST_KEYS + part];
  const uint last = ((part + 1) << MASU_SECOND_BITS) - 1;
  const uint end = starts[last] + counts[last];
  return begin == end ? 0 : (end - begin / MASU_VECTOR * MASU_VECTOR + MASU_TILE - 1) / MASU_TILE;
}

// From `keys` to `parted`. The last work-group finds the tiles of keys_second instead.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void keys_first(
    __global const uchar *keys, const ulong keys_at, __global uchar *parted, const ulong parted_at,
    __global uchar *scratch, const ulong counts_at, const ulong starts_at, const uint count, const uint flipped,
    __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  const uint lid = (uint)get_local_id(0);
  const uint tile = (uint)get_group_id(0);
  __global uint *const starts = MASU_AT(uint, starts_at);
  if (tile + 1 == get_num_groups(0)) {
    __local uint *const partial = (__local uint *)local_memory;
    const uint tiles = lid < 256 ? part_tiles(starts, MASU_AT(const uint, counts_at), lid) : 0;
    uint total;
    const uint before = scan_group(tiles, MASU_GROUP, partial, lid, &total);
    if (lid < 256) starts[MASU_FIRST_TILES + 1 + lid] = before;
    if (lid == 0) starts[MASU_FIRST_TILES] = 0;
    return;
  }
  // Keys counted from the multiple of 16 bytes at or before the first one.
  __global const uchar *const begin = keys + keys_at;
  const uint before = (uint)((size_t)begin & 15) / MASU_KEY_BYTES;
  __global const MASU_KEY *const from = (__global const MASU_KEY *)begin - before;
  const uint base = tile * MASU_TILE;
  const uint lo = max(base, before);
  const uint hi = (uint)min((ulong)base + MASU_TILE, (ulong)before + count);
  const MASU_KEY flip = flipped != 0 ? MASU_ALL : 0;
  __global MASU_KEY *const to = (__global MASU_KEY *)(parted + parted_at);
  const bool whole = MASU_UNROLL != 0 && lo == base && hi == base + MASU_TILE;
  const uint shift = MASU_KEY_BITS - 8;
  if (whole) {
    part_whole(from, to, starts + MASU_CURSORS, base, shift, true, true, flip, (__local uint *)local_memory, lid);
  } else {
    part_some(from, to, starts + MASU_CURSORS, lo, hi, shift, true, flip, (__local uint *)local_memory, lid);
  }
}

// From `parted`, which begins at a multiple of 16 bytes, to `sorted`. There are more work-groups than tiles.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void keys_second(
    __global const uchar *parted, const ulong parted_at, __global uchar *sorted, const ulong sorted_at,
    __global uchar *scratch, const ulong starts_at, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const found = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
  const uint tile = (uint)get_group_id(0);
  __global uint *const starts = MASU_AT(uint, starts_at);
  if (tile >= starts[MASU_FIRST_TILES + 256]) return;
  for (uint part = lid; part < 256; part += MASU_GROUP) {
    const uint first = starts[MASU_FIRST_TILES + part];
    if (tile < first || tile >= starts[MASU_FIRST_TILES + part + 1]) continue;
    found[0] = part;
    found[1] = tile - first;
    found[2] = starts[MASU_FIRST_KEYS + part];
    found[3] = starts[MASU_CURSORS + part];  // where the last key has gone
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint part = found[0];
  const uint begin = found[2];
  const uint end = found[3];
  const uint base = begin / MASU_VECTOR * MASU_VECTOR + found[1] * MASU_TILE;
  const uint lo = max(base, begin);
  const uint hi = min(base + MASU_TILE, end);
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const MASU_KEY *const from = (__global const MASU_KEY *)(parted + parted_at);
  __global MASU_KEY *const to = (__global MASU_KEY *)(sorted + sorted_at);
  const bool whole = MASU_UNROLL != 0 && lo == base && hi == base + MASU_TILE;
  // The 8 bits may begin with some of the part's own.
  __global uint *const cursors = starts + (part << MASU_SECOND_BITS & ~255U);
  if (whole) {
    part_whole(from, to, cursors, base, MASU_REST_BITS, true, false, 0, (__local uint *)local_memory, lid);
  } else {
    part_some(from, to, cursors, lo, hi, MASU_REST_BITS, false, 0, (__local uint *)local_memory, lid);
  }
}

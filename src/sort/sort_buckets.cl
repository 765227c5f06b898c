// SPDX-License-Identifier: Apache-2.0
// Radix sort from the greatest digit to the least in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). Equal keys
// may change places, so it is for keys alone whose equals have equal bits, and for packed keys, of which no two are equal;
// values move with these. A level parts every open bucket by
// one digit of 8 bits:
//   bucket_count    counts the digits of each bucket, tile by tile
//   bucket_split    a work-group for each bucket: where the keys of each digit go; what is small enough goes to a list for
//                   sort_finish.cl, what is not becomes a bucket of the next level
//   bucket_scatter  orders tiles in local memory and writes them where they reserve room
// No work-group waits for another. sort_key.cl, sort_rank.cl and sort_packed.cl stand in
// front of this file.
//
// Defines beside those of these, all given by sort_buckets.cpp:
#ifndef MASU_MOST             // keys of a bucket that sort_finish.cl takes
#error "MASU_MOST is not defined"
#endif
#ifndef MASU_LEVEL_TILE       // keys of a tile of bucket_count and bucket_scatter
#error "MASU_LEVEL_TILE is not defined"
#endif

// The words of a level's header.
#define MASU_OPEN 0       // buckets of the next level
#define MASU_TILES 1      // their tiles
#define MASU_SMALL 2      // entries for sort_finish.cl
#define MASU_OPEN_KEYS 3  // keys of the buckets of the next level
// What bucket_count finds of each bucket: bits that are 0 in some ordered key and bits that are 1 in some, lower words
// first; what floats need a stable sort for.
#define MASU_FACTS 8  // words
#define MASU_ZEROS 0
#define MASU_ONES 2
#define MASU_SPECIALS 4
#define MASU_SPECIAL_NAN 1
#define MASU_SPECIAL_ZERO 2
#define MASU_SPECIAL_MINUS 4

// An entry for sort_finish.cl: the first key, keys, and the bits in which they may differ. Of a kind of digits:
#define MASU_ALONE 0xffffffffU  // so many keys that they are an entry, or a bucket, of their own
// In the bits of an entry: its keys are equal, and have stayed where the level found them.
#define MASU_OTHER 0x80000000U

// A tile: its first key, its keys, its bucket. Level 0 has one bucket, and no table.
#define MASU_FIND_TILE(tile)                                                                      \
  const size_t first = single != 0 ? (tile) * MASU_TILE : MASU_AT(const uint, tiles_at)[3 * (tile)]; \
  const uint size = single != 0 ? (uint)min(count - first, (ulong)MASU_TILE)                      \
                                : MASU_AT(const uint, tiles_at)[3 * (tile) + 1];                  \
  const size_t bucket = single != 0 ? 0 : MASU_AT(const uint, tiles_at)[3 * (tile) + 2];

// Takes the keys of a tile, each work-item every MASU_GROUP-th.
inline void load_tile(MASU_KEY *loaded, __global const uchar *restrict keys, const size_t first, const uint size,
                      const uint single, const uint flip, const uint lid) {
#if MASU_PACKED
  if (single != 0) {
    __global const uint *const source = (__global const uint *)keys + first;
    uint bits[MASU_ITEMS];
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = i * MASU_GROUP + lid;
      bits[i] = place < size ? source[place] : 0;
    }
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) loaded[i] = packed_key(bits[i], first + i * MASU_GROUP + lid, flip);
    return;
  }
#endif
  (void)single;
  (void)flip;
  __global const MASU_KEY *const from = (__global const MASU_KEY *)keys + first;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    loaded[i] = place < size ? from[place] : 0;
  }
}

inline uint special_of(const MASU_KEY key) {
#if MASU_KEY_CLASS == 2
  const MASU_WIDE magnitude = key & (MASU_SIGN - 1);
  if (magnitude > MASU_INFINITE) return MASU_SPECIAL_NAN;
  return magnitude != 0 ? 0 : key == 0 ? MASU_SPECIAL_ZERO : MASU_SPECIAL_MINUS;
#else
  (void)key;
  return 0;
#endif
}

// A work-group counts `each` tiles, all of one bucket unless `each` is 1.
__kernel MASU_WORK_GROUP(MASU_GROUP) void bucket_count(__global const uchar *restrict keys, const ulong keys_at,
                                                       __global uchar *scratch, const ulong tiles_at,
                                                       const ulong counts_at, const ulong facts_at, const ulong count,
                                                       const uint tiles, const uint each, const uint single,
                                                       const uint shift, const uint flip, __local uint *counters) {
  MASU_LOCAL_POINTER(uint, counters);
  const uint lid = (uint)get_local_id(0);
  __local uint *const totals = counters + MASU_COUNTERS;
  const uint column = lid % MASU_COLUMNS;
  clear_counters(counters, lid);
  for (uint digit = lid; digit < MASU_DIGITS + 8; digit += MASU_GROUP) totals[digit] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  MASU_WIDE zeros = 0;
  MASU_WIDE ones = 0;
  uint specials = 0;
  size_t in_bucket = 0;
  for (size_t tile = get_group_id(0) * (size_t)each; tile < tiles && tile < (get_group_id(0) + 1) * (size_t)each;
       ++tile) {
    MASU_FIND_TILE(tile)
    in_bucket = bucket;
    MASU_KEY loaded[MASU_ITEMS];
    load_tile(loaded, keys + keys_at, first, size, single, flip, lid);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        const MASU_WIDE key = ordered_key(loaded[i]);
        const uint digit = ((uint)(key >> shift) & (MASU_DIGITS - 1)) ^ MASU_DIGIT_FLIP;
        atomic_add(&counters[counter_of(digit, column)], 1U << shift_of(digit));
        zeros |= ~key;
        ones |= key;
        specials |= special_of(loaded[i]);
      }
    }
  }
  __local uint *const found = totals + MASU_DIGITS;
  atomic_or(&found[MASU_ZEROS], (uint)zeros);
  atomic_or(&found[MASU_ONES], (uint)ones);
#if MASU_KEY_BYTES == 8
  atomic_or(&found[MASU_ZEROS + 1], (uint)(zeros >> 32));
  atomic_or(&found[MASU_ONES + 1], (uint)(ones >> 32));
#endif
#if MASU_KEY_CLASS == 2
  if (specials != 0) atomic_or(&found[MASU_SPECIALS], specials);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid < 5 && found[lid] != 0) atomic_or(&MASU_AT(uint, facts_at)[in_bucket * MASU_FACTS + lid], found[lid]);

  // Sums of the columns; each work-item begins at another one, so that no two read one bank at once.
  uint lower = 0;
  uint upper = 0;
  const uint row = lid * MASU_COUNTERS_EACH / MASU_COLUMNS;
  MASU_UNROLLED
  for (uint i = 0; i < MASU_COUNTERS_EACH; ++i) {
    const uint both = counters[lid * MASU_COUNTERS_EACH + ((i + row) & (MASU_COUNTERS_EACH - 1))];
    lower += both & 0xffff;
    upper += both >> 16;
  }
  atomic_add(&totals[row], lower);
  atomic_add(&totals[row + MASU_DIGITS / 2], upper);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint digit = lid; digit < MASU_DIGITS; digit += MASU_GROUP) {
    const uint total = totals[digit];
    if (total != 0) atomic_add(&MASU_AT(uint, counts_at)[in_bucket * MASU_DIGITS + digit], total);
  }
}

// Whether all keys of a bucket are equal.
inline bool all_equal(__global const uint *facts) {
  const uint lower = facts[MASU_ZEROS] & facts[MASU_ONES];
  return (lower | (facts[MASU_ZEROS + 1] & facts[MASU_ONES + 1])) == 0;
}

// Sums of `own` over the work-items before this one. `sums` holds MASU_DIGITS words; `all` gets the sum of all.
inline uint sum_before(const uint own, __local uint *sums, const uint lid, uint *all) {
  sums[lid] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < MASU_DIGITS; distance *= 2) {
    const uint other = lid >= distance ? sums[lid - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[lid] += other;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const uint result = sums[lid] - own;
  *all = sums[MASU_DIGITS - 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

// Counts become places. A bucket of equal keys goes to the entries as it is. Neighbouring digits of few keys make one
// entry, of at most MASU_MOST keys: what begins in one window of half as many. `last`: no digits are left, so that the
// keys of each large bucket are equal.
__kernel MASU_WORK_GROUP(MASU_DIGITS) void bucket_split(__global uchar *scratch, const ulong opens_at,
                                                        const ulong counts_at, const ulong header_at,
                                                        const ulong next_opens_at, const ulong next_tiles_at,
                                                        const ulong small_at, const ulong facts_at, const uint shift,
                                                        __local uint *shared) {
  MASU_LOCAL_POINTER(uint, shared);
  const uint digit = (uint)get_local_id(0);
  const size_t bucket = get_group_id(0);
  const bool equal = all_equal(MASU_AT(const uint, facts_at) + bucket * MASU_FACTS);
  const bool last = shift == 0 || equal;
  __local uint *const begins = shared + MASU_DIGITS;
  __local uint *const sizes = begins + MASU_DIGITS;    // of large buckets
  __local uint *const places = sizes + MASU_DIGITS;    // in the list of tiles, or of entries
  __local uint *const indices = places + MASU_DIGITS;  // of large buckets
  __local uint *const kinds = indices + MASU_DIGITS;   // what stands alone, and windows
  __global uint *const header = MASU_AT(uint, header_at);
  __global uint *const small = MASU_AT(uint, small_at);
  const uint keys = MASU_AT(uint, counts_at)[bucket * MASU_DIGITS + digit];
  uint all;
  const uint within = sum_before(keys, shared, digit, &all);
  const uint bucket_begin = MASU_AT(const uint, opens_at)[bucket];
  const uint bucket_end = bucket_begin + all;
  const uint begin = bucket_begin + within;
  MASU_AT(uint, counts_at)[bucket * MASU_DIGITS + digit] = begin;

  const bool large = keys > MASU_MOST;
  const uint kind = keys > MASU_MOST / 2 ? MASU_ALONE : within / (MASU_MOST / 2);
  begins[digit] = begin;
  sizes[digit] = large ? keys : 0;
  kinds[digit] = kind;
  barrier(CLK_LOCAL_MEM_FENCE);
  // An entry begins here, and ends before digit `end`.
  const bool heads = digit == 0 || kind == MASU_ALONE || kinds[digit - 1] != kind;
  uint end = digit + 1;
  uint of_entry = keys;
  if (heads && kind != MASU_ALONE) {
    while (end < MASU_DIGITS && kinds[end] == kind) ++end;
    of_entry = (end == MASU_DIGITS ? bucket_end : begins[end]) - begin;
  }
  const uint own = large ? (last ? (keys + MASU_MOST - 1) / MASU_MOST : 0) : heads && of_entry != 0 ? 1 : 0;
  const uint before = sum_before(own, shared, digit, &all);
  if (digit == 0) indices[0] = all == 0 ? 0 : atomic_add(&header[MASU_SMALL], all);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint place = indices[0] + before;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint index = 0;
  if (large && !last) {
    index = atomic_add(&header[MASU_OPEN], 1);
    place = atomic_add(&header[MASU_TILES], (keys + MASU_LEVEL_TILE - 1) / MASU_LEVEL_TILE);
    atomic_add(&header[MASU_OPEN_KEYS], keys);
    MASU_AT(uint, next_opens_at)[index] = begin;
  } else if (!large && own == 1) {
    uint bits = shift;
    for (uint spread = digit ^ (end - 1); spread != 0; spread >>= 1) ++bits;
    small[3 * place] = begin;
    small[3 * place + 1] = of_entry;
    small[3 * place + 2] = bits;
  }
  places[digit] = place;
  indices[digit] = index;
  barrier(CLK_LOCAL_MEM_FENCE);
  __global uint *const tiles = MASU_AT(uint, next_tiles_at);
  const uint step = last ? MASU_MOST : MASU_LEVEL_TILE;
  for (uint d = 0; d < MASU_DIGITS; ++d) {
    const uint length = sizes[d];
    for (uint i = digit; (ulong)i * step < length; i += MASU_DIGITS) {
      const uint left = length - i * step;
      const uint part = left < step ? left : step;
      __global uint *const row = (last ? small : tiles) + 3 * (size_t)(places[d] + i);
      row[0] = begins[d] + i * step;
      row[1] = part;
      row[2] = equal ? MASU_OTHER : last ? 0 : indices[d];
    }
  }
}

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void bucket_scatter(
    __global const uchar *restrict keys_from, const ulong keys_at, __global uchar *restrict sorted,
    const ulong sorted_at, MASU_VALUE_PARAMETERS __global uchar *scratch, const ulong tiles_at, const ulong cursors_at,
    const ulong facts_at, const ulong count, const uint single, const uint shift, const uint flip, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const counters = (__local uint *)local_memory;
  __local uint *const partial = counters + MASU_STAGING_WORDS;
  __local uint *const bases = partial + MASU_GROUP * 17 / 16 + 64;
  __local MASU_KEY *const staging = (__local MASU_KEY *)counters;
  const uint lid = (uint)get_local_id(0);
  const size_t tile = get_group_id(0);
  MASU_FIND_TILE(tile)
  if (all_equal(MASU_AT(const uint, facts_at) + bucket * MASU_FACTS)) return;
  MASU_KEY keys[MASU_ITEMS];
  load_tile(keys, keys_from + keys_at, first, size, single, flip, lid);
  clear_counters(counters, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint column = lid % MASU_COLUMNS;
  uint ranks[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    ranks[i] = 0;
    if (i * MASU_GROUP + lid < size) {
      const uint digit = digit_of(keys[i], shift, MASU_DIGIT_FLIP);
      const uint upper = shift_of(digit);
      const uint old = atomic_add(&counters[counter_of(digit, column)], 1U << upper);
      ranks[i] = (old >> upper & 0xffff) | digit << 16;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  scan_counters(counters, partial, lid);
  for (uint digit = lid; digit < MASU_DIGITS; digit += MASU_GROUP) {
    const uint before = counters[counter_of(digit, 0)] >> shift_of(digit) & 0xffff;
    const uint behind = digit == MASU_DIGITS - 1
                            ? size
                            : counters[counter_of(digit + 1, 0)] >> shift_of(digit + 1) & 0xffff;
    const uint room = behind - before;
    bases[digit] =
        room == 0 ? 0 : atomic_add(&MASU_AT(uint, cursors_at)[bucket * MASU_DIGITS + digit], room) - before;
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint digit = ranks[i] >> 16;
    ranks[i] = (ranks[i] & 0xffff) + (counters[counter_of(digit, column)] >> shift_of(digit) & 0xffff);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) staging[ranks[i]] = keys[i];
  }
#if MASU_VALUE_BYTES > 0
  __global const MASU_VALUE *const values_from = (__global const MASU_VALUE *)(values + values_at) + first;
  __global MASU_VALUE *const values_to = (__global MASU_VALUE *)(moved + moved_at);
  __local MASU_VALUE *const staged_values = (__local MASU_VALUE *)counters;
  MASU_VALUE taken[MASU_ITEMS];
  uint targets[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) taken[i] = values_from[i * MASU_GROUP + lid];
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  __global MASU_KEY *const to = (__global MASU_KEY *)(sorted + sorted_at);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) {
      const MASU_KEY key = staging[place];
      const uint target = bases[digit_of(key, shift, MASU_DIGIT_FLIP)] + place;
      to[target] = key;
#if MASU_VALUE_BYTES > 0
      targets[i] = target;
#endif
    }
  }
#if MASU_VALUE_BYTES > 0
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) staged_values[ranks[i]] = taken[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) values_to[targets[i]] = staged_values[place];
  }
#endif
}

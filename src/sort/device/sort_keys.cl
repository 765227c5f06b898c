// SPDX-License-Identifier: Apache-2.0
// Keys, parted by their uppermost bits, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++):
//   keys_first   parts all keys by the upper 8 bits
//   keys_second  parts each of these parts by the other bits of the bucket
// sort_keys_count.cl has found where they go. Equal keys may change places: where that can be seen they are packed
// (sort_placed.cl), and values may move with them. No work-group waits for another. sort_key.cl, sort_placed.cl, group_scan.cl
// and sort_lists.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

// Values as they lie beside the keys, and where they go; sort_crowded.cl moves them both ways.
#if MASU_PAYLOAD_BYTES > 0
#define SORT_VALUE_BUFFERS \
  __global uchar *values, const ulong values_at, __global uchar *moved, const ulong moved_at,
#else
#define SORT_VALUE_BUFFERS
#endif

// A crowded bucket: its first key, its keys, the bits in which they may differ, and where they are and go.
enum { open_words = 4 };  // words
enum { state_in_parted = 1 };
// What the keys of a crowded bucket are: how many have each digit, then bits that are 1 in some key, and 0 in some, lower
// words first.
enum { row_ones = 256 };
enum { row_nones = 258 };
enum { row_words = 260 };  // words

// Gives crowded buckets to a level of sort_crowded.cl: of each work-item of `group` one, or none. `noted` holds 1 + 4 * group
// words.
inline void open_buckets(const bool opens, const uint begin, const uint size, const uint bits, const uint state,
                         __global uchar *workspace, __global uint *level, const ulong opens_at, const ulong rows_at,
                         const ulong tiles_at, __local uint *noted, const uint lid, const uint group) {
  if (lid == 0) noted[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (opens) {
    const uint index = atomic_inc(&level[0]);
    __global uint *const record = SORT_AT(uint, opens_at) + (size_t)index * open_words;
    record[0] = begin;
    record[1] = size;
    record[2] = bits;
    record[3] = state;
    __local uint *const note = noted + 1 + 4 * atomic_inc(&noted[0]);
    note[0] = index;
    note[1] = atomic_add(&level[1], (size + MASU_PART_TILE - 1) / MASU_PART_TILE);
    note[2] = begin;
    note[3] = size;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint number = noted[0];
  for (uint k = 0; k < number; ++k) {
    __local const uint *const note = noted + 1 + 4 * k;
    const uint index = note[0];
    for (uint i = lid; i < row_words; i += group) SORT_AT(uint, rows_at)[(size_t)index * row_words + i] = 0;
    const uint all = note[3];
    for (uint i = lid; i < (all + MASU_PART_TILE - 1) / MASU_PART_TILE; i += group) {
      __global uint *const tile = SORT_AT(uint, tiles_at) + ((size_t)note[1] + i) * 3;
      tile[0] = note[2] + i * MASU_PART_TILE;
      tile[1] = min(all - i * MASU_PART_TILE, (uint)MASU_PART_TILE);
      tile[2] = index;
    }
  }
}

#define SORT_TILE MASU_PART_TILE
enum { counter_words = 4096 };  // words: two counters of 16 bits, for each of 256 digits in each of 32 columns

enum { bucket_count = 1U << MASU_BUCKET_BITS };
// Keys of 16 bytes, as the caller has them and as they are parted.
enum { source_vector = 16 / SORT_SOURCE_BYTES };
enum { key_vector = 16 / MASU_ELEMENT_BYTES };
inline void unpack_vector(const uint4 vector, MASU_ELEMENT *keys) {
  uint words[4];
  words_of_vector(vector, words);
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < key_vector; ++k) keys[k] = element_of(words, k);
}
#if SORT_SOURCE_BYTES == 4
#define unpack_source words_of_vector
#else
#define unpack_source unpack_vector
#endif

// The words of `starts`, after those of the buckets, for each of the upper 8 bits: where the next key goes, where the first
// key is, and how many tiles of keys_second come before.
enum { start_cursors = bucket_count };
enum { start_first_keys = bucket_count + 256 };
enum { start_first_tiles = bucket_count + 512 };
// The bits of a bucket that keys_second parts by.
enum { second_bits = MASU_BUCKET_BITS - 8 };

inline uint digit_of(const MASU_ELEMENT key, const uint shift) { return (uint)(key >> shift) & 255; }
// Where key i of a tile is kept, so that neighbours lie in different banks.
inline uint kept_at(const uint i) { return i ^ (i >> (MASU_ELEMENT_BYTES == 4 ? 7 : 6) & 31); }

// Where the local memory of a partition is used for what.
inline __local MASU_ELEMENT *part_kept(__local uint *memory) { return (__local MASU_ELEMENT *)memory; }
inline __local uint *part_counters(__local uint *memory) { return memory + SORT_TILE * (MASU_ELEMENT_BYTES / 4); }
inline __local uint *part_bases(__local uint *memory) { return part_counters(memory) + counter_words; }
inline __local uint *part_partial(__local uint *memory) { return part_bases(memory) + 256; }

inline void clear_counters(__local uint *counters, const uint lid) {
  for (uint i = lid; i < counter_words; i += MASU_GROUP) counters[i] = 0;
}
inline uint count_at(const uint word, const uint digit, __local uint *counters) {
  return atomic_add(&counters[word], 1U << upper_of(digit)) >> upper_of(digit) & 0xffff;
}
inline uint count_digit(const uint digit, const uint column, __local uint *counters) {
  return count_at(counter_of(digit, column), digit, counters);
}
inline uint digit_begin(const uint digit, const uint column, __local const uint *counters) {
  return counters[counter_of(digit, column)] >> upper_of(digit) & 0xffff;
}
// Counters become places; `cursors` give room for the keys of each digit. Returns the keys of the tile.
MASU_INLINE uint reserve_places(__global uint *cursors, __local uint *memory, const uint lid) {
  __local uint *const counters = part_counters(memory);
  uint size;
  uint pairs;
  scan_counter_pairs(counters, counter_words / MASU_GROUP, MASU_GROUP, part_partial(memory), lid, &size, &pairs);
  for (uint digit = lid; digit < 256; digit += MASU_GROUP) {
    const uint before = digit_begin(digit, 0, counters);
    const uint next_begin = digit == 255 ? size : digit_begin(digit + 1, 0, counters);
    part_bases(memory)[digit] = next_begin == before ? 0 : atomic_add(&cursors[digit], next_begin - before) - before;
  }
  return size;
}

#if MASU_PAYLOAD_BYTES > 0
inline __local MASU_VALUE *part_values(__local uint *memory) { return (__local MASU_VALUE *)(part_partial(memory) + MASU_GROUP + 4); }
#endif

// Writes a key of a tile that lies in order in local memory, and its value: neighbours of equal digits to neighbours.
MASU_INLINE void write_key(__global MASU_ELEMENT *to, SORT_VALUE_PARAMETERS const uint place, const uint shift,
                           __local uint *memory) {
  const MASU_ELEMENT key = part_kept(memory)[kept_at(place)];
  const uint there = part_bases(memory)[digit_of(key, shift)] + place;
  to[there] = key;
#if MASU_STAGED_VALUES
  (void)values_from;
  values_to[there] = part_values(memory)[kept_at(place)];
#endif
}

// Puts the keys from[lo, hi) of the tile that begins at `base` to their places by the digit at `shift`: in local memory first,
// then to where `cursors` give room. `partial`: they are not all of the tile; `aligned`: it begins at a multiple of 16 bytes.
// `first`: the keys are as the caller has them, `before` keys after `from`, and zeros and NaNs are left out.
MASU_INLINE void part_keys(__global const uchar *from, __global MASU_ELEMENT *to, SORT_VALUE_PARAMETERS
                           __global uint *cursors, const uint base, const uint lo, const uint hi, const bool partial,
                           const uint shift, const bool aligned, const bool first, const uint before,
                           const Source flip, __local uint *memory, const uint lid) {
  __local uint *const counters = part_counters(memory);
  const bool checked = partial || (first && MASU_ELEMENT_CLASS == 2);
  const uint column = lid % 32;
  const uint own = base + lid;  // the first key of this work-item
  const bool indexed = first && MASU_PACKED;
  const uint held_shift = indexed ? 24 : shift;
  MASU_ELEMENT keys[MASU_ITEMS];
  uint ranks[MASU_ITEMS / 2];
  uint moves = 0;  // a bit for each key
  if (indexed) {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = own + i * MASU_GROUP;
      keys[i] = !partial || (place >= lo && place < hi) ? ((__global const Source *)from)[place] : 0;
    }
  } else if (aligned && !partial && MASU_PAYLOAD_BYTES == 0) {
    MASU_UNROLLED
    for (uint v = 0; v < MASU_ITEMS / key_vector; ++v) {
      unpack_vector(masu_load_streaming((__global const uint4 *)((__global const MASU_ELEMENT *)from + base) +
                                        v * MASU_GROUP + lid),
                    keys + v * key_vector);
    }
  } else {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = own + i * MASU_GROUP;
      keys[i] = !partial || (place >= lo && place < hi) ? ((__global const MASU_ELEMENT *)from)[place] : 0;
    }
  }
  clear_counters(counters, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = own + i * MASU_GROUP;
    const bool stays = (partial && (place < lo || place >= hi)) || (first && SORT_IS_SPECIAL(keys[i]));
    // Fewer registers: without their indices.
    if (first) keys[i] = MASU_PACKED ? upper_key(keys[i], flip) : masu_computed(upper_key(keys[i], flip));
    // What stays is counted where nobody looks, so that no addition waits for the one before it.
    const uint digit = digit_of(keys[i], held_shift);
    const bool counts = !checked || !stays;
    const uint rank = count_at(counts ? counter_of(digit, column) : counter_words + 256 + lid, digit, counters);
    if (checked && counts) moves |= 1U << i;
    ranks[i / 2] = i % 2 == 0 ? rank : ranks[i / 2] | rank << 16;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint size = reserve_places(cursors, memory, lid);
#if MASU_PAYLOAD_BYTES > 0 && !MASU_STAGED_VALUES
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint rank = i % 2 == 0 ? ranks[i / 2] & 0xffff : ranks[i / 2] >> 16;
    if (!checked || (moves >> i & 1) != 0) {
      const uint place = digit_begin(digit_of(keys[i], held_shift), column, counters) + rank;
      part_kept(memory)[kept_at(place)] = indexed ? indexed_key(keys[i], own + i * MASU_GROUP - before) : keys[i];
#if MASU_STAGED_VALUES
      part_values(memory)[kept_at(place)] = values_from[own + i * MASU_GROUP - before];
#elif MASU_PAYLOAD_BYTES > 0
      values_to[part_bases(memory)[digit_of(keys[i], held_shift)] + place] = values_from[own + i * MASU_GROUP - before];
#endif
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (!checked || place < size) write_key(to, MASU_VALUES(values_from, values_to) place, shift, memory);
  }
}
#define SORT_PART_TILE_OF(partial)                                                                                      \
  part_keys(from, to, MASU_VALUES(values_from, values_to) cursors, base, lo, hi, partial, shift, aligned, first, before, \
            flip, memory, lid)

MASU_INLINE void part_tile(__global const uchar *from, __global MASU_ELEMENT *to, SORT_VALUE_PARAMETERS
                           __global uint *cursors, const uint base, const uint lo, const uint hi, const uint shift,
                           const bool aligned, const bool first, const uint before, const Source flip,
                           __local uint *memory, const uint lid) {
#if MASU_WHOLE_TILES
  if (lo == base && hi == base + SORT_TILE) SORT_PART_TILE_OF(false);
  else
#endif
    SORT_PART_TILE_OF(true);
}

// Tiles of a part: they begin at multiples of 16 bytes.
inline uint tiles_of(const uint begin, const uint end) {
  return begin == end ? 0 : (end - begin / key_vector * key_vector + SORT_TILE - 1) / SORT_TILE;
}

// From `keys` to `parted`. The last work-group finds the tiles of keys_second instead, unless keys_parts has.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void keys_first(
    __global const uchar *keys, const ulong keys_at, __global uchar *parted, const ulong parted_at,
    SORT_VALUE_BUFFERS __global uchar *workspace, const ulong header_at, const ulong counts_at, const ulong starts_at,
    const uint count, const uint flipped, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  const uint lid = (uint)get_local_id(0);
  const uint tile = (uint)get_group_id(0);
  __global uint *const starts = SORT_AT(uint, starts_at);
  if (tile + 1 == get_num_groups(0)) {
#if !MASU_TWO_STEPS
    __local uint *const partial = (__local uint *)local_memory;
    const uint last = ((lid + 1) << second_bits) - 1;
    const uint tiles =
        lid < 256 ? tiles_of(starts[start_first_keys + lid], starts[last] + SORT_AT(const uint, counts_at)[last]) : 0;
    uint total;
    const uint before = group_scan(tiles, MASU_GROUP, partial, lid, &total);
    if (lid < 256) starts[start_first_tiles + 1 + lid] = before;
    if (lid == 0) starts[start_first_tiles] = 0;
#endif
    return;
  }
#if MASU_BY_DIGITS_TOO
  if (SORT_AT(const uint, header_at)[header_by_digits] != 0) return;
#endif
  // Keys counted from the multiple of 16 bytes at or before the first one.
  __global const uchar *const begin = keys + keys_at;
  const uint before = (uint)((size_t)begin & 15) / SORT_SOURCE_BYTES;
  __global const uchar *const from = begin - before * SORT_SOURCE_BYTES;
  const uint base = tile * SORT_TILE;
  const uint lo = max(base, before);
  const uint hi = (uint)min((ulong)base + SORT_TILE, (ulong)before + count);
  const Source flip = flipped != 0 ? SORT_SOURCE_ALL_BITS : 0;
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(parted + parted_at);
  part_tile(from, to, MASU_VALUES(values + values_at, moved + moved_at) starts + start_cursors, base, lo, hi,
            MASU_KEY_BITS - 8, true, true, before, flip, (__local uint *)local_memory, lid);
}

// From `parted`, which begins at a multiple of 16 bytes, to `sorted`. There are more work-groups than tiles.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void keys_second(
    __global const uchar *parted, const ulong parted_at, __global uchar *sorted, const ulong sorted_at,
    SORT_VALUE_BUFFERS __global uchar *workspace, const ulong starts_at, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const found = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
  const uint tile = (uint)get_group_id(0);
  __global uint *const starts = SORT_AT(uint, starts_at);
  const uint tiles = starts[start_first_tiles + 256];
  for (uint part = lid; part < 256; part += MASU_GROUP) {
    const uint first = starts[start_first_tiles + part];
    uint4 what;
    what.x = part;
    what.y = tile - first;
    what.z = starts[start_first_keys + part];
    what.w = starts[start_cursors + part];  // where the last key has gone
    // All is read at once, and what is not of this tile is written where nobody reads it.
    const bool here = tile >= first && tile < starts[start_first_tiles + part + 1];
    ((__local uint4 *)local_memory)[here ? 0 : 1 + lid] = what;
  }
  if (tile >= tiles) return;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint part = found[0];
  const uint begin = found[2];
  const uint end = found[3];
  const uint base = begin / key_vector * key_vector + found[1] * SORT_TILE;
  const uint lo = max(base, begin);
  const uint hi = min(base + SORT_TILE, end);
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const uchar *const from = parted + parted_at;
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at);
  // The 8 bits may begin with some of the part's own.
  __global uint *const cursors = starts + (part << second_bits & ~255U);
  part_tile(from, to, MASU_VALUES(values + values_at, moved + moved_at) cursors, base, lo, hi, SORT_REST_BITS, true, false,
            0, 0, (__local uint *)local_memory, lid);
}

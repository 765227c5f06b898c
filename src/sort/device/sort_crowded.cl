// SPDX-License-Identifier: Apache-2.0
// Buckets of sort_keys.cl that are too large for a work-group, parted further, in OpenCL C 1.2 (and, after the CUDA prelude,
// in CUDA C++). A level takes each crowded bucket by the upper 8 of the bits in which its keys may differ:
//   crowd_count    counts these digits, and finds the bits in which keys do differ
//   crowd_split    a bucket at a time: where the keys of each digit go. What a work-group can sort is listed for
//                  keys_finish; what it cannot goes to the next level, with the bits that are left
//   crowd_scatter  moves the keys there; where the digit is all in which keys differ, writes them by their counts
// A bucket whose keys differ in 16 bits at most goes to sort_tally.cl, if it is not too large for a work-group. A bucket whose
// digit is the same in all keys stays, and goes to the next level with the bits that do differ. How much there
// is to do stands in the header; work-groups take turns. sort_key.cl, sort_placed.cl, group_scan.cl, sort_lists.cl,
// sort_keys.cl and sort_keys_count.cl stand in front of this file.

// The last word of a crowded bucket: state_in_parted, and what becomes of it.
enum { state_moves = 2 };
enum { state_fills = 4 };

inline uint width_of(const MASU_ELEMENT bits) {
  return bits == 0 ? 0 : (uint)(8 * sizeof(MASU_ELEMENT)) - (uint)clz(bits);
}
inline uint digit_shift(const uint bits) { return max(bits, 8U) - 8; }
inline MASU_ELEMENT found_bits(__global const uint *found) {
#if MASU_ELEMENT_BYTES == 8
  return found[0] | (MASU_ELEMENT)found[1] << 32;
#else
  return found[0];
#endif
}

// Sets in `word` the bits that are set in some work-item's `bits`. All work-items come there.
inline void note_bits(__local uint *word, uint bits) {
#if MASU_SHUFFLE_LANES == 32
  for (uint mask = 1; mask < MASU_SHUFFLE_LANES; mask *= 2) bits |= masu_shuffle_xor(bits, mask);
  if (get_local_id(0) % MASU_SHUFFLE_LANES != 0) return;
#endif
  atomic_or(word, bits);
}

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void crowd_count(
    __global const uchar *restrict sorted, const ulong sorted_at, __global const uchar *restrict parted,
    const ulong parted_at, __global uchar *workspace, const ulong level_at, const ulong opens_at, const ulong rows_at,
    const ulong tiles_at, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const counters = (__local uint *)local_memory;
  __local uint *const found = counters + counter_words;
  const uint lid = (uint)get_local_id(0);
  const uint tiles = SORT_AT(const uint, level_at)[1];
  // Neighbouring tiles, so that most are of the bucket of the one before, and few counters are added.
  const uint each = (tiles + (uint)get_num_groups(0) - 1) / (uint)get_num_groups(0);
  const uint first = (uint)get_group_id(0) * each;
  const uint tile_end = min(tiles, first + each);
  MASU_ELEMENT ones = 0;
  MASU_ELEMENT nones = 0;
  for (uint i = lid; i < counter_words + 4; i += MASU_GROUP) counters[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint tile = first; tile < tile_end; ++tile) {
    __global const uint *const where = SORT_AT(const uint, tiles_at) + (size_t)tile * 3;
    __global const uint *const open = SORT_AT(const uint, opens_at) + (size_t)where[2] * open_words;
    const uint size = where[1];
    const uint shift = digit_shift(open[2]);
    __global const MASU_ELEMENT *const from =
        (__global const MASU_ELEMENT *)((open[3] & state_in_parted) != 0 ? parted + parted_at : sorted + sorted_at) + where[0];
    MASU_ELEMENT keys[MASU_ITEMS];
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) keys[i] = i * MASU_GROUP + lid < size ? from[i * MASU_GROUP + lid] : 0;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      if (i * MASU_GROUP + lid < size) {
        count_digit(digit_of(keys[i], shift), lid % 32, counters);
        ones |= keys[i];
        nones |= ~keys[i];
      }
    }
    // Counters of 16 bits hold 65,535 keys of a column.
    const bool full = (tile - first) % (65535 / (SORT_TILE / 32)) == 65535 / (SORT_TILE / 32) - 1;
    if (tile + 1 != tile_end && where[5] == where[2] && !full) continue;  // the next tile is of this bucket
    __global uint *const row = SORT_AT(uint, rows_at) + (size_t)where[2] * row_words;
    note_bits(&found[0], (uint)ones);
    note_bits(&found[2], (uint)nones);
#if MASU_ELEMENT_BYTES == 8
    note_bits(&found[1], (uint)(ones >> 32));
    note_bits(&found[3], (uint)(nones >> 32));
#endif
    ones = 0;
    nones = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    // Sums of the columns; each work-item begins at another one, so that no two read one bank at once.
    for (uint digit = lid; digit < 128; digit += MASU_GROUP) {
      uint lower = 0;
      uint upper = 0;
      for (uint i = 0; i < 32; ++i) {
        const uint both = counters[digit * 32 + ((i + digit) & 31)];
        lower += both & 0xffff;
        upper += both >> 16;
      }
      if (lower != 0) atomic_add(&row[digit], lower);
      if (upper != 0) atomic_add(&row[digit + 128], upper);
    }
    if (lid < 4 && found[lid] != 0) atomic_or(&row[row_ones + lid], found[lid]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < counter_words + 4; i += MASU_GROUP) counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

#define SORT_ALONE 0xffffffffU  // more keys than half of what an entry holds

// Counts become places. Neighbouring digits of few keys make one entry, of at most MASU_MOST keys: what begins in one window of
// half as many.
__kernel MASU_WORK_GROUP(256) void crowd_split(__global uchar *workspace, const ulong header_at, const ulong level_at,
                                               const ulong opens_at, const ulong rows_at, const ulong next_opens_at,
                                               const ulong next_rows_at, const ulong next_tiles_at,
                                               const ulong entries_at, const ulong tallies_at,
                                               const uint tally_most, __local uint *shared) {
  MASU_LOCAL_POINTER(uint, shared);
  const uint digit = (uint)get_local_id(0);
  __global uint *const header = SORT_AT(uint, header_at);
  __global uint *const level = SORT_AT(uint, level_at);
  __local uint *const begins = shared + 256;
  __local uint *const kinds = begins + 256;
  __local uint *const noted = kinds + 256;
  const uint buckets = level[0];
  for (uint bucket = (uint)get_group_id(0); bucket < buckets; bucket += (uint)get_num_groups(0)) {
    __global uint *const open = SORT_AT(uint, opens_at) + (size_t)bucket * open_words;
    __global uint *const row = SORT_AT(uint, rows_at) + (size_t)bucket * row_words;
    const uint bucket_begin = open[0];
    const uint bucket_size = open[1];
    const uint state = open[3];
    const uint shift = digit_shift(open[2]);
    const MASU_ELEMENT differ = found_bits(row + row_ones) & found_bits(row + row_nones);
    const uint width = width_of(differ);
    const bool fills = (differ & ~((MASU_ELEMENT)255 << shift)) == 0;
    const bool tallied = !fills && width <= 16 && bucket_size <= tally_most;
    const bool stays = !fills && !tallied && width <= shift;
    if (tallied && digit == 0) {
      list_tally(workspace, header, tallies_at, bucket_begin, bucket_size, state & state_in_parted);
    }
    const uint keys = row[digit];
    uint total;
    const uint within = group_scan(keys, 256, shared, digit, &total) - keys;
    const uint begin = bucket_begin + within;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!stays) row[digit] = begin;
    if (digit == 0) open[3] = state | (fills ? state_fills : stays || tallied ? 0 : state_moves);
    const uint kind = keys > MASU_MOST / 2 ? SORT_ALONE : within / (MASU_MOST / 2);
    begins[digit] = begin;
    kinds[digit] = kind;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint other = (state & state_in_parted) ^ state_in_parted;
    const bool moves = !fills && !stays && !tallied;
    // An entry begins here, and ends before digit `end`.
    if (moves && keys <= MASU_MOST && (digit == 0 || kind == SORT_ALONE || kinds[digit - 1] != kind)) {
      uint end = digit + 1;
      if (kind != SORT_ALONE) {
        while (end < 256 && kinds[end] == kind) ++end;
      }
      const uint in_entry = (end == 256 ? bucket_begin + bucket_size : begins[end]) - begin;
      uint bits = shift;
      for (uint spread = digit ^ (end - 1); spread != 0; spread >>= 1) ++bits;
      if (in_entry != 0) {
        __global uint *const entry = SORT_AT(uint, entries_at) + (size_t)atomic_inc(&header[header_entries]) * 3;
        entry[0] = begin;
        entry[1] = in_entry;
        entry[2] = bits | (other != 0 ? SORT_OTHER : 0);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool opens = stays ? digit == 0 : moves && keys > MASU_MOST;
    open_buckets(opens, stays ? bucket_begin : begin, stays ? bucket_size : keys, stays ? width : shift,
                 stays ? state : other, workspace, level + 2, next_opens_at, next_rows_at, next_tiles_at, noted, digit, 256);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

#if !MASU_PACKED  // packed keys all differ
// Writes the keys of `size` places from `begin` on by where those of each digit begin. `base`: a key of the bucket, whatever its
// digit is.
inline void fill_tile(__global MASU_ELEMENT *to, __global const uint *starts, const uint begin, const uint size,
                      const MASU_ELEMENT base, const uint shift, const MASU_ELEMENT flip, __local uint *begins, const uint lid) {
  for (uint digit = lid; digit < 256; digit += MASU_GROUP) begins[digit] = starts[digit];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lid; i < size; i += MASU_GROUP) {
    uint digit = 0;  // the last one whose keys begin at or before this place
    for (uint step = 128; step != 0; step >>= 1) digit += begins[digit + step] <= begin + i ? step : 0;
    to[begin + i] = natural_key((base & ~((MASU_ELEMENT)255 << shift)) | (MASU_ELEMENT)digit << shift, flip);
  }
}
#endif

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void crowd_scatter(
    __global uchar *sorted, const ulong sorted_at, __global uchar *parted, const ulong parted_at,
    SORT_VALUE_BUFFERS __global uchar *workspace, const ulong level_at, const ulong opens_at, const ulong rows_at,
    const ulong tiles_at, const uint flipped, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  const uint lid = (uint)get_local_id(0);
  const uint tiles = SORT_AT(const uint, level_at)[1];
  for (uint tile = (uint)get_group_id(0); tile < tiles; tile += (uint)get_num_groups(0)) {
    __global const uint *const where = SORT_AT(const uint, tiles_at) + (size_t)tile * 3;
    __global const uint *const open = SORT_AT(const uint, opens_at) + (size_t)where[2] * open_words;
    __global uint *const row = SORT_AT(uint, rows_at) + (size_t)where[2] * row_words;
    const uint begin = where[0];
    const uint size = where[1];
    const uint shift = digit_shift(open[2]);
    const uint state = open[3];
    // Values lie beside keys: those of `sorted` in `moved`, those of `parted` in `values`.
    const bool in_parted = (state & state_in_parted) != 0;
    __global uchar *const from = in_parted ? parted + parted_at : sorted + sorted_at;
    __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(in_parted ? sorted + sorted_at : parted + parted_at);
#if MASU_PAYLOAD_BYTES > 0
    __global uchar *const values_from = in_parted ? values + values_at : moved + moved_at;
    __global uchar *const values_to = in_parted ? moved + moved_at : values + values_at;
#endif
    if ((state & state_fills) != 0) {
#if !MASU_PACKED
      fill_tile((__global MASU_ELEMENT *)(sorted + sorted_at), row, begin, size, ~found_bits(row + row_nones), shift,
                flipped != 0 ? MASU_ALL_BITS : 0, (__local uint *)local_memory, lid);
#endif
    } else if ((state & state_moves) != 0) {
      part_tile(from, to, MASU_VALUES(values_from, values_to) row, begin, begin, begin + size, shift, false, false, 0, 0,
                (__local uint *)local_memory, lid);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

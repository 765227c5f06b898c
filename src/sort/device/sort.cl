// SPDX-License-Identifier: Apache-2.0
// Radix sort from the least digit to the greatest, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). A pass
// orders all keys by one digit of 8 bits, stably:
//   sort_count        each work-group counts the digits of one tile of keys
//   sort_scan_tiles   sums the counts of the tiles of each chunk
//   sort_scan_chunks  sums the chunks of each piece, then the digits: where the keys of each begin
//   sort_scatter      each work-group orders its tile in local memory and writes every key to its place
// No work-group waits for another. sort_key.cl, group_scan.cl, sort_counters.cl and sort_rank.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_plan.cpp gives.

#if MASU_OFFSET_BYTES == 4
typedef uint Offset;
#else
typedef ulong Offset;
#endif

#define SORT_TABLE(type, at) ((__global const type *)(tables + (at)))

// Where a tile lies: `first`, its first key; `size`, its keys; `index`, the place of the first in its piece; `chunk`.
// A row of the table of tiles is three ulong: first, index, size + 2^32 * chunk. Without tables tiles_at is the number
// of tiles of a row, and `count` of its keys.
#if MASU_PIECES
#define SORT_FIND_TILE                                                          \
  __global const ulong *const row = SORT_TABLE(ulong, tiles_at) + 3 * tile;     \
  const size_t first = row[0];                                                  \
  const size_t index = row[1];                                                  \
  const uint size = (uint)row[2];                                               \
  const uint chunk = (uint)(row[2] >> 32);
#else
#define SORT_CHUNKS_OF(tiles) (((tiles) + MASU_CHUNK_TILES - 1) / MASU_CHUNK_TILES)
#define SORT_FIND_TILE                                                          \
  const uint row_tiles = (uint)tiles_at;                                        \
  const uint row = (uint)tile / row_tiles;                                      \
  const uint number = (uint)tile - row * row_tiles;                             \
  const size_t index = (size_t)number * tile_keys;                              \
  const size_t first = row * (size_t)count + index;                             \
  const uint size = (uint)min(count - index, (ulong)tile_keys);                 \
  const uint chunk = row * SORT_CHUNKS_OF(row_tiles) + number / MASU_CHUNK_TILES;
#endif

// ---- counting the digits of tiles ----

// `facts`: 1 also finds the bits that are 0 in some key, and those that are 1 in some, of the ordered keys: two ulong
// at facts_at, as words.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_count(__global const uchar *restrict keys, const ulong keys_at,
                                                     __global uchar *workspace, __global const uchar *restrict tables,
                                                     const ulong tiles_at, const ulong counts_at,
                                                     const ulong facts_at, const ulong count, const uint shift,
                                                     const uint flip, const uint facts, __local uint *counters) {
  MASU_LOCAL_POINTER(uint, counters);
  const uint lid = (uint)get_local_id(0);
  const size_t tile = get_group_id(0);
  SORT_FIND_TILE
  (void)index;
  (void)chunk;
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys + keys_at) + first;
  __local uint *const partial = counters + counter_words;
  clear_counters(counters, lid);
  if (lid < 4) partial[lid] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint column = lid % column_count;
  MASU_BITS zeros = 0;
  MASU_BITS ones = 0;
  MASU_ELEMENT loaded[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    loaded[i] = place < size ? from[place] : 0;
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    if (i * MASU_GROUP + lid < size) {
      const MASU_BITS key = sort_key(loaded[i]);
      const uint digit = ((uint)(key >> shift) & (digit_count - 1)) ^ flip;
      atomic_add(&counters[counter_of(digit, column)], 1U << upper_of(digit));
      zeros |= ~key;
      ones |= key;
    }
  }
  if (facts != 0) {
    atomic_or(&partial[0], (uint)zeros);
    atomic_or(&partial[1], (uint)ones);
#if MASU_ELEMENT_BYTES == 8
    atomic_or(&partial[2], (uint)(zeros >> 32));
    atomic_or(&partial[3], (uint)(ones >> 32));
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (facts != 0 && lid < 4) atomic_or(&SORT_AT(uint, facts_at)[lid], partial[lid]);
  barrier(CLK_LOCAL_MEM_FENCE);

  // Sums of the columns; each work-item begins at another one, so that no two read one bank at once.
  uint sum = 0;
  const uint row_of_counters = lid * counters_each / column_count;
  MASU_UNROLLED
  for (uint i = 0; i < counters_each; ++i) {
    sum += counters[lid * counters_each + ((i + row_of_counters) & (counters_each - 1))];
  }
  partial[lid] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint digit = lid; digit < digit_count; digit += MASU_GROUP) {
    uint total = 0;
    for (uint i = 0; i < 2 * MASU_GROUP / digit_count; ++i) {
      total += partial[(digit & (digit_count / 2 - 1)) * (2 * MASU_GROUP / digit_count) + i];
    }
    SORT_AT(uint, counts_at)[tile * digit_count + digit] = total >> upper_of(digit) & 0xffff;
  }
}

// ---- summing the counts ----

// Element i of a digit's column of `to` becomes `before` and what stands in front of element i of that column of `from`;
// eight loads in flight.
#define SORT_SUMS_BEFORE(from, to, begin, end, before)                                \
  {                                                                                   \
    uint i = (begin);                                                                 \
    for (; i + 8 <= (end); i += 8) {                                                  \
      uint loaded[8];                                                                 \
      MASU_UNROLLED                                                                   \
      for (uint k = 0; k < 8; ++k) loaded[k] = (from)[(i + k) * digit_count];         \
      MASU_UNROLLED                                                                   \
      for (uint k = 0; k < 8; ++k) {                                                  \
        (to)[(i + k) * digit_count] = (before);                                       \
        (before) += loaded[k];                                                        \
      }                                                                               \
    }                                                                                 \
    for (; i < (end); ++i) {                                                          \
      const uint own = (from)[i * digit_count];                                       \
      (to)[i * digit_count] = (before);                                               \
      (before) += own;                                                                \
    }                                                                                 \
  }

// A work-group for each chunk: the counts of its tiles become the counts of the tiles before, within the chunk; `sums`
// gets those of all. A row of the table of chunks is two uint: the first tile, and how many tiles. Without tables
// chunks_at is the number of tiles of a row.
__kernel MASU_WORK_GROUP(2 * digit_count) void sort_scan_tiles(__global uchar *workspace,
                                                               __global const uchar *restrict tables,
                                                               const ulong chunks_at, const ulong counts_at,
                                                               const ulong sums_at, __local uint *halves) {
  MASU_LOCAL_POINTER(uint, halves);
  const uint lid = (uint)get_local_id(0);
  const size_t chunk = get_group_id(0);
#if MASU_PIECES
  const size_t first = SORT_TABLE(uint, chunks_at)[2 * chunk];
  const uint size = SORT_TABLE(uint, chunks_at)[2 * chunk + 1];
#else
  const uint row_tiles = (uint)chunks_at;
  const uint row = (uint)chunk / SORT_CHUNKS_OF(row_tiles);
  const uint before_chunk = ((uint)chunk - row * SORT_CHUNKS_OF(row_tiles)) * MASU_CHUNK_TILES;
  const size_t first = row * (size_t)row_tiles + before_chunk;
  const uint size = min(row_tiles - before_chunk, (uint)MASU_CHUNK_TILES);
#endif
  const uint digit = lid % digit_count;
  const uint part = lid / digit_count;
  const uint middle = (size + 1) / 2;
  const uint begin = part == 0 ? 0 : middle;
  const uint end = part == 0 ? middle : size;
  __global uint *const counts = SORT_AT(uint, counts_at) + first * digit_count + digit;
  uint sum = 0;
  for (uint i = begin; i < end; ++i) sum += counts[i * digit_count];
  halves[lid] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint before = part == 0 ? 0 : halves[digit];
  if (part == 1) SORT_AT(uint, sums_at)[chunk * digit_count + digit] = before + sum;
  SORT_SUMS_BEFORE(counts, counts, begin, end, before)
}

// A work-group for each piece: `bases` gets, for each of its chunks, where the keys of each digit go. A row of the table of
// pieces is two ulong: the first key, and the first chunk + 2^32 * chunks. Without tables pieces_at is the number of
// chunks of a row, and `count` of its keys.
__kernel MASU_WORK_GROUP(digit_count) void sort_scan_chunks(__global uchar *workspace,
                                                            __global const uchar *restrict tables,
                                                            const ulong pieces_at, const ulong sums_at,
                                                            const ulong bases_at, const ulong count,
                                                            __local Offset *scanned) {
  MASU_LOCAL_POINTER(Offset, scanned);
  const uint digit = (uint)get_local_id(0);
#if MASU_PIECES
  __global const ulong *const row = SORT_TABLE(ulong, pieces_at) + 2 * get_group_id(0);
  const Offset begin = (Offset)row[0];
  const size_t first = (uint)row[1];
  const uint chunks = (uint)(row[1] >> 32);
#else
  const uint chunks = (uint)pieces_at;
  const Offset begin = (Offset)(get_group_id(0) * count);
  const size_t first = get_group_id(0) * chunks;
#endif
  __global const uint *const sums = SORT_AT(const uint, sums_at) + first * digit_count + digit;
  __global Offset *const bases = SORT_AT(Offset, bases_at) + first * digit_count + digit;
  Offset total = 0;
  for (uint i = 0; i < chunks; ++i) total += sums[i * digit_count];
  scanned[digit] = total;
  MASU_LOCAL_PREFIXES(Offset, scanned, digit_count, digit, MASU_SUM_OF)
  Offset before = begin + scanned[digit] - total;
  SORT_SUMS_BEFORE(sums, bases, 0, chunks, before)
}

// ---- ordering tiles ----

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void sort_scatter(
    __global const uchar *restrict keys_from, const ulong keys_at, __global uchar *restrict sorted,
    const ulong sorted_at, SORT_VALUE_PARAMETERS __global const uchar *restrict workspace,
    __global const uchar *restrict tables, const ulong tiles_at, const ulong counts_at, const ulong bases_at,
    const ulong count, const uint shift, const uint flip, const uint flags, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);  // at a multiple of 16, as vectors of counters must lie
  __local uint *const counters = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
  const size_t tile = get_group_id(0);
  SORT_FIND_TILE
  (void)index;
  __local uint *const partial = counters + MASU_STAGING_WORDS;
  __local Offset *const bases = (__local Offset *)(partial + MASU_GROUP * 17 / 16 + 64);
  __local MASU_ELEMENT *const staging = (__local MASU_ELEMENT *)counters;

  // Keys come in the order of memory and are taken column by column.
  __global const MASU_ELEMENT *const from = (__global const MASU_ELEMENT *)(keys_from + keys_at) + first;
  const uint own = lid % column_count * (row_count * MASU_ITEMS) + lid / column_count * MASU_ITEMS;
  MASU_ELEMENT keys[MASU_ITEMS];
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    keys[i] = place < size ? from[place] : 0;
  }
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) staging[SORT_PADDED(i * MASU_GROUP + lid)] = keys[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) keys[i] = staging[SORT_PADDED(own + i)];
  barrier(CLK_LOCAL_MEM_FENCE);

  uint ranks[MASU_ITEMS];
  rank_keys(keys, shift, flip, own, size, ranks, counters, partial, lid);
  for (uint digit = lid; digit < digit_count; digit += MASU_GROUP) {
    const uint before = counters[counter_of(digit, 0)] >> upper_of(digit) & 0xffff;
    bases[digit] = SORT_AT(const Offset, bases_at)[(size_t)chunk * digit_count + digit] +
                   SORT_AT(const uint, counts_at)[tile * digit_count + digit] - before;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) staging[SORT_PADDED(ranks[i])] = keys[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at);
#if MASU_PAYLOAD_BYTES > 0
  Offset places[MASU_ITEMS];
#endif
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    const MASU_ELEMENT key = staging[SORT_PADDED(place)];
    const Offset there = bases[digit_of(key, shift, flip)] + place;
#if MASU_PAYLOAD_BYTES > 0
    places[i] = there;
    if (place < size && (flags & flag_drop_keys) == 0) to[there] = key;
#else
    if (place < size) to[there] = key;
#endif
  }

#if MASU_PAYLOAD_BYTES > 0
  __local MASU_VALUE *const waiting = (__local MASU_VALUE *)counters;
  __global MASU_VALUE *const moved_to = (__global MASU_VALUE *)(moved + moved_at);
  barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_PAYLOAD_BYTES == 4 || MASU_PAYLOAD_BYTES == 8
  if ((flags & flag_indices) != 0) {
    const size_t start = ((flags & flag_whole) != 0 ? first : index) + own;
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) waiting[SORT_PADDED(ranks[i])] = (MASU_VALUE)(start + i);
  } else
#endif
  {
    __global const MASU_VALUE *const values_from = (__global const MASU_VALUE *)(values + values_at) + first;
    MASU_VALUE own_values[MASU_ITEMS];
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = i * MASU_GROUP + lid;
      own_values[i] = values_from[place < size ? place : 0];
    }
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) waiting[SORT_PADDED(i * MASU_GROUP + lid)] = own_values[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) own_values[i] = waiting[SORT_PADDED(own + i)];
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) waiting[SORT_PADDED(ranks[i])] = own_values[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_PAYLOAD_BYTES == 4
  if ((flags & flag_widen) != 0) {
    MASU_UNROLLED
    for (uint i = 0; i < MASU_ITEMS; ++i) {
      const uint place = i * MASU_GROUP + lid;
      if (place < size) ((__global ulong *)moved_to)[places[i]] = waiting[SORT_PADDED(place)];
    }
    return;
  }
#endif
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint place = i * MASU_GROUP + lid;
    if (place < size) moved_to[places[i]] = waiting[SORT_PADDED(place)];
  }
#endif
}

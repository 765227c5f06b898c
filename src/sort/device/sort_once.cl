// SPDX-License-Identifier: Apache-2.0
// Radix sort from the least digit to the greatest in one launch, each pass with one read and one write, in OpenCL C 1.2
// (and, after the CUDA prelude, in CUDA C++): sort_once sorts keys stably, and what moves with them. sort_key.cl
// stands in front of this file.
//
// All work-groups are on the device at once (the plan launches them together, cooperatively), so they may wait for each
// other: between the passes for all others, within a pass for tiles in front. The last MASU_ADDERS work-groups add up,
// the others sort: each takes tile after tile, counts its digits, and publishes the counts; those that add up publish
// where the keys of each tile and digit go. What is published stands with the pass in one word, which is read and
// written as a whole, so no fence is needed.
//
// Items: a key of 4 bytes and what moves with it are one integer of 8 bytes from the first pass to the last one, so
// that runs of equal digits are twice as long and each is written once. Keys that can be made of their ordered ones
// stand as these. Of keys of 8 bytes whose order is wanted, the lower half stands with the index, until its passes are
// done; the last of them fetches the upper half.
//
// Ranks: a sub-group of 32 lanes takes a part of the tile, row after row of 32 neighbours, and has a counter for each
// digit, which holds where the next key of the digit goes in local memory. Lanes with equal digits find each other by
// ballots; they read the counter, and the last of them writes it. The next tile takes the slots of items that are
// ranked, and its counts are published before this one is written, so that nobody waits for a work-group that writes.
//
// Passes in which all keys agree are left out. Every work-group finds them by itself from the counts of all digits.
//
// kernels.md has the parameters, which sort_once.cpp gives.

enum {
  digit_count = 256,
  pass_count = MASU_ELEMENT_BYTES,
  tile_items = MASU_GROUP * MASU_ITEMS,
  sub_groups = MASU_GROUP / 32,
};
enum {
  loads_each = 4,  // vectors of keys under way together
  items_read = 8,   // items that a work-item reads before it counts any of them
  digits_added = digit_count / MASU_ADDERS,
  adder_sets = MASU_GROUP / digits_added,
};

// A word of a digit and a tile: its upper two bits say in which pass it was published, 0 at the start.
enum { mark_shift = 30 };
#define SORT_PUBLISHED(word) ((word) & ((1U << mark_shift) - 1))

#if MASU_PAYLOAD_BYTES == 0
typedef MASU_BITS Item;
#else
typedef ulong Item;
#endif
// 1: items hold halves of keys.
#define SORT_HALVES (MASU_INDICES && MASU_ELEMENT_BYTES == 8)
// Whether items hold ordered keys. Those of floats do not tell zeros and NaNs apart.
#define SORT_TURNED (MASU_INDICES || !MASU_FLOAT)

// What is sorted by in a pass.
inline uint half_of(const MASU_ELEMENT bits, const MASU_BITS flip, const bool upper) {
  const MASU_BITS key = sort_key(bits) ^ flip;
  return (uint)(SORT_HALVES && upper ? (ulong)key >> 32 : (ulong)key);
}
inline MASU_BITS key_of(const Item item, const MASU_BITS flip) {
  return SORT_TURNED ? (MASU_BITS)item : sort_key((MASU_BITS)item) ^ flip;
}
// The digit of an item, or the last digit where there is none in the tile.
inline uint digit_of(const Item item, const uint shift, const MASU_BITS flip, const bool there) {
  return SORT_TURNED || there ? (uint)(key_of(item, flip) >> shift) & (digit_count - 1) : digit_count - 1;
}

// All work-groups wait for each other, the first of `times` at a word of 0, and see then what the others wrote.
inline void wait_for_all(__global volatile uint *arrived, const uint times, const uint lid) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lid == 0) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(arrived);
    while (*arrived < times * (uint)get_num_groups(0)) {
    }
    mem_fence(CLK_GLOBAL_MEM_FENCE);
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// ---- counting ----

inline void count_key(const MASU_ELEMENT key, const MASU_BITS flip, __local uint *counters, const uint column) {
  const MASU_BITS bits = sort_key(key) ^ flip;
  MASU_PRAGMA_UNROLL
  for (uint pass = 0; pass < pass_count; ++pass) {
    const uint digit = (uint)(bits >> (8 * pass)) & (digit_count - 1);
    atomic_inc(&counters[(pass * digit_count + digit) * MASU_COLUMNS + column]);
  }
}

// Adds the digits of all keys to `totals`, digit_count for each pass.
inline void count_digits(__global const MASU_ELEMENT *from, __global uint *totals, const uint count,
                         const MASU_BITS flip, __local uint *counters, const uint lid) {
  const uint column = lid % MASU_COLUMNS;
  for (uint i = lid; i < pass_count * digit_count * MASU_COLUMNS; i += MASU_GROUP) counters[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  // Keys before the first multiple of 16 bytes, and after the last one.
  const uint head = min(count, (uint)(((16 - ((size_t)from & 15)) & 15) / MASU_ELEMENT_BYTES));
  const uint vectors = (count - head) / MASU_PER_VECTOR;
  const uint tail = count - head - vectors * MASU_PER_VECTOR;
  if (get_group_id(0) == 0 && lid < head + tail) {
    count_key(from[lid < head ? lid : count - tail + (lid - head)], flip, counters, column);
  }
  __global const uint4 *const whole = (__global const uint4 *)(from + head);
  const uint stride = (uint)get_num_groups(0) * MASU_GROUP;
  uint i = (uint)get_group_id(0) * MASU_GROUP + lid;
  for (; i + (loads_each - 1) * stride < vectors; i += loads_each * stride) {
    uint4 held[loads_each];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < loads_each; ++k) held[k] = masu_load_streaming(whole + i + k * stride);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < loads_each; ++k) {
      uint words[4];
      words_of_vector(held[k], words);
      MASU_PRAGMA_UNROLL
      for (uint e = 0; e < MASU_PER_VECTOR; ++e) {
        count_key((MASU_ELEMENT)element_of(words, e), flip, counters, column);
      }
    }
  }
  for (; i < vectors; i += stride) {
    uint words[4];
    words_of_vector(masu_load_streaming(whole + i), words);
    MASU_PRAGMA_UNROLL
    for (uint e = 0; e < MASU_PER_VECTOR; ++e) count_key((MASU_ELEMENT)element_of(words, e), flip, counters, column);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // Each work-item begins at another column, so that no two read one bank at once.
  for (uint digit = lid; digit < pass_count * digit_count; digit += MASU_GROUP) {
    uint sum = 0;
    for (uint k = 0; k < MASU_COLUMNS; ++k) {
      sum += counters[digit * MASU_COLUMNS + ((k + lid) & (MASU_COLUMNS - 1))];
    }
    if (sum != 0) atomic_add(&totals[digit], sum);
  }
}

// ---- passes ----

// The digits in which keys differ, as bits. Others are added where the result is not written otherwise, where one pass
// would overwrite what it reads, and where keys alone go to and fro and must not end where they began. `found`: a word.
inline uint passes_of(__global const uint *totals, const uint count, const uint in_place, __local uint *found,
                      const uint lid) {
  if (lid == 0) found[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lid; i < pass_count * digit_count; i += MASU_GROUP) {
    if (totals[i] == count) atomic_or(&found[0], 1U << i / digit_count);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint all = (1U << pass_count) - 1;
  uint passes = ~found[0] & all;
  if (passes == 0 && in_place != 0) return 0;
  if (passes == 0) passes = 1;
#if MASU_PAYLOAD_BYTES == 0
  const bool more = in_place != 0 && (popcount(passes) & 1) != 0;
#else
  const bool more = !MASU_INDICES && popcount(passes) == 1;  // values are in place
#endif
  return more ? passes | ((passes + 1) & ~passes & all) : passes;
}

// Where a work-item has its items of a tile from: each 32nd one from an address on, which is computed once; of a value,
// too, in the first pass, where keys and values are not yet items. `left`: how many items follow, itself included.
typedef struct {
  ulong items, values;
  uint left;
} Source;
MASU_INLINE Source source_of(const bool first_pass, __global const MASU_ELEMENT *keys, __global const MASU_VALUE *values,
                             __global const Item *items, const uint place, const uint count) {
  Source source;
  source.items = masu_computed(first_pass ? (ulong)(keys + place) : (ulong)(items + place));
  source.values = masu_computed((ulong)(values + place));
  source.left = count - min(count, place);
  return source;
}
// Brings item number `i` of the next `left` into local memory, where it is after masu_copies_done(): in the first pass a
// key as it is, and beside it what moves with it. Behind the last one stand the greatest items.
MASU_INLINE void load_item(const bool first_pass, const Source source, const uint left, const uint i,
                           __local Item *slot) {
  if (i >= left) {
    *slot = (Item)0 - 1;
  } else if (!first_pass) {
    masu_copy_async(slot, (__global const Item *)source.items + i);
  } else {
    masu_copy_async((__local MASU_ELEMENT *)slot, (__global const MASU_ELEMENT *)source.items + i);
#if MASU_PAYLOAD_BYTES == 4 && !MASU_INDICES
    masu_copy_async((__local uint *)slot + 1, (__global const uint *)source.values + i);
#elif MASU_PAYLOAD_BYTES != 0 && !MASU_INDICES
    ((__local uint *)slot)[1] = ((__global const MASU_VALUE *)source.values)[i];
#endif
  }
}
// Counts the digits of a sub-group's part of a tile, of which a work-item has each 32nd item, beginning with number
// `place` of all and with `left`. In the first pass it makes items of keys as they are.
MASU_INLINE void count_part(const bool first_pass, const bool upper, const uint place, const uint left, const uint shift,
                            const MASU_BITS flip, const uint lane, __local Item *slots,
                            __local uint *own_counters) {
  masu_copies_done();
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < digit_count / 32; ++i) own_counters[i * 32 + lane] = 0;
  masu_sub_group_barrier();
  MASU_PRAGMA_UNROLL
  for (uint first = 0; first < MASU_ITEMS; first += items_read) {
    uint digits[items_read];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < items_read; ++k) {
      const uint i = first + k;
      if (i >= MASU_ITEMS) continue;
      Item item = slots[i * 32];
#if SORT_TURNED
      if (first_pass && i * 32 < left) {
#if MASU_INDICES
        item = (ulong)(place + i * 32) << 32 | half_of((MASU_BITS)item, flip, upper);
#else
        const MASU_BITS key = sort_key((MASU_BITS)item) ^ flip;
#if MASU_PAYLOAD_BYTES != 0
        item = item >> 32 << 32 | key;
#else
        item = key;
#endif
#endif
        slots[i * 32] = item;
      }
#endif
      digits[k] = digit_of(item, shift, flip, i * 32 < left);
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < items_read; ++k) {
      if (first + k < MASU_ITEMS) atomic_inc(&own_counters[digits[k]]);
    }
  }
}
// Ranks the items of a sub-group's part of a tile, `there` from a work-item's first one on, and brings each to its place
// in `staging`; if there are `more` tiles, `left` items of the next one take their slots.
MASU_INLINE void rank_part(const uint there, const bool more, const bool first_pass, const uint left,
                           const Source source, const uint shift, const MASU_BITS flip, const uint lane,
                           __local Item *slots, __local uint *own_counters, __local Item *staging) {
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const Item item = slots[i * 32];
    const uint digit = digit_of(item, shift, flip, i * 32 < there);
    const uint equals = masu_lanes_like(digit, 8);
    const uint place = own_counters[digit] + popcount(equals & ((1U << lane) - 1));
    masu_sub_group_barrier();
    if (equals >> lane == 1) own_counters[digit] = place + 1;
    masu_sub_group_barrier();
    staging[place] = item;
    if (more) load_item(first_pass, source, left, i * 32, slots + i * 32);
  }
}
// Publishes the counts of a tile, after a barrier; then each counter becomes the place of the sub-group's first key of
// the digit in local memory. Returns where the digit lid begins there.
MASU_INLINE uint place_digits(__global volatile uint *counts, const uint tile, const uint mark, const uint lid,
                              __local uint *counters, __local uint *partial) {
  uint begin = 0;
  uint total = 0;
  uint before[sub_groups / 2];  // keys of the digit in sub-groups in front of each, two of 16 bits
  if (lid < digit_count) {
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < sub_groups / 2; ++i) {
      before[i] = total;
      total += counters[2 * i * digit_count + lid];
      before[i] |= total << 16;
      total += counters[(2 * i + 1) * digit_count + lid];
    }
    counts[(size_t)tile * digit_count + lid] = mark << mark_shift | total;
    begin = masu_scan_lanes(total);
    if (lid % 32 == 31) partial[lid / 32] = begin;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lid < digit_count) {
    begin -= total;
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < digit_count / 32; ++i) begin += i < lid / 32 ? partial[i] : 0;
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < sub_groups; ++i) {
      counters[i * digit_count + lid] = (before[i / 2] >> i % 2 * 16 & 0xffff) + begin;
    }
  }
  return begin;
}

// Publishes where the keys of each tile and of digits_added digits go, the first ones from `place` on. Each of the sets
// of digits_added work-items looks at some tiles, of which those are taken up to the first whose counts are not all
// there: a work-group may hold a tile in front of it and publish that one's counts only later. `counts` and `places`
// are those of the digit of the work-item, digit_count apart; `sums` has MASU_GROUP + 2 words.
inline void add_up(__global volatile const uint *counts, __global volatile uint *places, const uint tiles,
                   const uint mark, uint place, __local uint *sums, const uint lid) {
  __local uint *const missing = sums + MASU_GROUP;
  const uint ahead = lid / digits_added * MASU_AHEAD;
  counts += ahead * digit_count;
  places += ahead * digit_count;
  uint turn = 0;
  if (lid < 2) missing[lid] = adder_sets * MASU_AHEAD;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint tile = 0; tile < tiles;) {
    const uint left = tiles - tile > ahead ? tiles - tile - ahead : 0;
    uint words[MASU_AHEAD];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) words[k] = k < left ? counts[k * digit_count] : 0;
    uint there = 0;  // those that all lanes have
    bool all = true;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) {
      all = all && masu_all_lanes(words[k] >> mark_shift == mark);
      there += all ? 1 : 0;
    }
    if (!all && lid % 32 == 0) atomic_min(&missing[turn], ahead + there);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint taken = missing[turn];
    uint total = 0;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) {
      const uint keys = ahead + k < taken ? SORT_PUBLISHED(words[k]) : 0;
      words[k] = total;
      total += keys;
    }
    sums[lid] = total;
    if (lid == 0) missing[1 - turn] = adder_sets * MASU_AHEAD;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = mark << mark_shift | place;
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < adder_sets; ++i) {
      const uint sum = sums[i * digits_added + lid % digits_added];
      before += i < lid / digits_added ? sum : 0;
      place += sum;
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) {
      if (ahead + k < taken) places[k * digit_count] = before + words[k];
    }
    counts += taken * digit_count;
    places += taken * digit_count;
    tile += taken;
    turn = 1 - turn;
  }
}

// With `asked` only where `state` holds a word that is not 0. The word after it, and pass_count + 1 rows of `totals`,
// are zeros at the start. The first pass reads `keys` and `moved`; items go to and fro between `one` and `other`, or,
// of keys alone, between `one` and `sorted`; the last pass writes `sorted` and `moved`. Fewer than 2^30 keys.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void sort_once(
    __global const uchar *keys_memory, const ulong keys_at, __global uchar *sorted_memory, const ulong sorted_at,
    __global uchar *moved_memory, const ulong moved_at, __global uchar *workspace, const ulong one_at,
    const ulong other_at, const ulong state_at, const ulong totals_at, const ulong counts_at, const uint count,
    const uint flipped, const uint in_place, const uint asked, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __global volatile uint *const state = SORT_AT(volatile uint, state_at);
  if (asked != 0 && state[0] == 0) return;
  __local Item *const staging = (__local Item *)local_memory;
  __local Item *const parts = staging + tile_items;
  __local uint *const counters = (__local uint *)(parts + tile_items);
  __local uint *const bases = counters + sub_groups * digit_count;
  __local uint *const partial = bases + digit_count;
  __local uint *const following = partial + digit_count / 32;
  const uint lid = (uint)get_local_id(0);
  const uint lane = lid % 32;
  const uint sub_group = lid / 32;
  const uint own = sub_group * 32 * MASU_ITEMS + lane;
  const MASU_BITS flip = flipped != 0 ? MASU_ALL_BITS : 0;
  const uint sorters = (uint)get_num_groups(0) - MASU_ADDERS;
  const uint tiles = (count + tile_items - 1) / tile_items;
  __global const MASU_ELEMENT *const keys = (__global const MASU_ELEMENT *)(keys_memory + keys_at);
#if !MASU_INDICES
  __global MASU_ELEMENT *const sorted = (__global MASU_ELEMENT *)(sorted_memory + sorted_at);
#endif
  __global MASU_VALUE *const moved = (__global MASU_VALUE *)(moved_memory + moved_at);
  __global uint *const totals = SORT_AT(uint, totals_at);
  __global volatile uint *const counts = SORT_AT(volatile uint, counts_at);
  __global volatile uint *const places = counts + (size_t)tiles * digit_count;
  __local uint *const own_counters = counters + sub_group * digit_count;

  for (uint tile = (uint)get_group_id(0); tile < tiles; tile += (uint)get_num_groups(0)) {
    if (lid < digit_count) counts[(size_t)tile * digit_count + lid] = 0;
    if (lid < digit_count) places[(size_t)tile * digit_count + lid] = 0;
  }
  count_digits(keys, totals, count, flip, (__local uint *)local_memory, lid);
  wait_for_all(state + 1, 1, lid);
  const uint passes = passes_of(totals, count, in_place, partial, lid);
  const uint needed = popcount(passes);
  uint done = 0;
  for (uint pass = 0; pass < pass_count; ++pass) {
    if ((passes >> pass & 1) == 0) continue;
    if (done != 0) wait_for_all(state + 1, 1 + done, lid);
    const uint shift = SORT_HALVES ? 8 * (pass & 3) : 8 * pass;
    const bool upper = pass >= 4;
#if SORT_HALVES
    // Whether the next pass is the first one by upper halves.
    const bool fetches = (passes & 15) >> pass == 1 && passes >> 4 != 0;
#endif
    const bool first_pass = done == 0;
    const uint mark = done % 3 + 1;
#if MASU_PAYLOAD_BYTES == 0
    const bool to_sorted = ((needed - done) & 1) != 0;
    __global const Item *const from = to_sorted ? SORT_AT(Item, one_at) : sorted;
    __global Item *const to = to_sorted ? sorted : SORT_AT(Item, one_at);
#else
    __global const Item *const from = SORT_AT(Item, (done & 1) != 0 ? one_at : other_at);
    __global Item *const to = SORT_AT(Item, (done & 1) != 0 ? other_at : one_at);
#endif
    ++done;

    if (get_group_id(0) >= sorters) {
      const uint digit = ((uint)get_group_id(0) - sorters) * digits_added + lid % digits_added;
      for (uint i = lid; i < digit_count; i += MASU_GROUP) bases[i] = totals[pass * digit_count + i];
      barrier(CLK_LOCAL_MEM_FENCE);
      uint place = 0;
      for (uint i = 0; i < digit_count; ++i) place += i < digit ? bases[i] : 0;
      add_up(counts + digit, places + digit, tiles, mark, place, (__local uint *)staging, lid);
      continue;
    }

    __local Item *const slots = parts + own;
    uint tile = (uint)get_group_id(0);
    if (tile >= tiles) continue;
    const uint first = tile * tile_items + own;
    const Source source = source_of(first_pass, keys, moved, from, first, count);
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_ITEMS; ++i) load_item(first_pass, source, source.left, i * 32, slots + i * 32);
    count_part(first_pass, upper, first, source.left, shift, flip, lane, slots, own_counters);
    // The next tile is whichever no work-group has taken.
    __global uint *const taken = &totals[pass_count * digit_count + pass];
    if (lid == MASU_GROUP - 1) following[0] = sorters + atomic_inc(taken);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint begin = place_digits(counts, tile, mark, lid, counters, partial);
    barrier(CLK_LOCAL_MEM_FENCE);
    while (tile < tiles) {
      const uint size = min(count - tile * tile_items, (uint)tile_items);
      const uint next = following[0];
      const uint next_own = next * tile_items + own;
      const uint there = size - min(size, own);
      const Source next_source = source_of(first_pass, keys, moved, from, next_own, count);
      // Most tiles are followed by a whole one of items: for these nothing is looked at that is known.
      if (!first_pass && next + 1 < tiles) {
        rank_part(there, true, false, tile_items, next_source, shift, flip, lane, slots, own_counters, staging);
        count_part(false, upper, next_own, tile_items, shift, flip, lane, slots, own_counters);
      } else {
        rank_part(there, next < tiles, first_pass, next_source.left, next_source, shift, flip, lane, slots, own_counters,
                  staging);
        if (next < tiles) count_part(first_pass, upper, next_own, next_source.left, shift, flip, lane, slots, own_counters);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      uint next_begin = 0;
      if (next < tiles) {
        if (lid == MASU_GROUP - 1) following[0] = sorters + atomic_inc(taken);
        next_begin = place_digits(counts, next, mark, lid, counters, partial);
      }
      if (lid < digit_count) {
        uint word = places[(size_t)tile * digit_count + lid];
        while (word >> mark_shift != mark) word = places[(size_t)tile * digit_count + lid];
        bases[lid] = SORT_PUBLISHED(word) - begin;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      begin = next_begin;
      if (done != needed) {
        MASU_PRAGMA_UNROLL
        for (uint i = 0; i < MASU_ITEMS; ++i) {
          const uint place = i * MASU_GROUP + lid;
          const Item item = staging[place];
          const uint goes = bases[digit_of(item, shift, flip, true)] + place;
#if SORT_HALVES
          if (place < size && fetches) {
            to[goes] = item >> 32 << 32 | half_of(keys[item >> 32], flip, true);
          } else
#endif
          if (place < size) to[goes] = item;
        }
      } else {
        MASU_PRAGMA_UNROLL
        for (uint i = 0; i < MASU_ITEMS; ++i) {
          const uint place = i * MASU_GROUP + lid;
          const Item item = staging[place];
          const uint goes = bases[digit_of(item, shift, flip, true)] + place;
#if !MASU_INDICES
          if (place < size) sorted[goes] = SORT_TURNED ? bits_of_key((MASU_BITS)item ^ flip) : (MASU_BITS)item;
#endif
#if MASU_PAYLOAD_BYTES != 0
          if (place < size) moved[goes] = (MASU_VALUE)(item >> 32);
#endif
        }
      }
      tile = next;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}

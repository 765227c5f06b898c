// SPDX-License-Identifier: Apache-2.0
// Radix sort from the least digit to the greatest in one launch, each pass with one read and one write, in OpenCL C 1.2 (and,
// behind the CUDA prelude, in CUDA C++): sort_once sorts keys stably, and what moves with them.
// sort_key.cl stands in front of this file.
//
// All work-groups are on the device at once (the plan launches them together, cooperatively), so they may wait for each other:
// between the passes for all others, within a pass for tiles in front. The last work-group adds up, the others sort:
// each takes tile after tile, counts its digits, and tells the counts; the last work-group, a work-item for each digit, tells
// where the keys of each tile and digit go. Meanwhile the work-group counts its next tile, and only then writes this one.
// What is told stands with the pass in one word, which is read and written as a whole, so no fence is needed.
//
// Ranks: a sub-group of 32 lanes takes a part of the tile, row after row of 32 neighbours, and has a counter for each digit.
// Lanes with equal digits find each other; they read the counter, and the last of them writes it.
//
// Passes in which all keys agree are left out. Every work-group finds them by itself from the counts of all digits.
//
// Defines beside those of these, all given by sort_keys_plan.cpp:
// - MASU_GROUP        work-items in a work-group: at least 256, a multiple of 64
// - MASU_ITEMS        keys of a work-item
// - MASU_VALUE_BYTES  of what moves with a key: 1, 2, 4, 8 or 16
// - MASU_VALUE        its type
// - MASU_INDICES      1: the values are the places of the keys, and the keys themselves are not wanted
// - MASU_COLUMNS      counters of each digit in a work-group that counts all digits

#define MASU_DIGITS 256
#define MASU_PASSES MASU_ELEMENT_BYTES
#define MASU_TILE (MASU_GROUP * MASU_ITEMS)
#define MASU_SUB_GROUPS (MASU_GROUP / 32)
#define MASU_AT(type, at) ((__global type *)(scratch + (at)))
#define MASU_LOADS 4   // vectors of keys under way together
#define MASU_AHEAD 32  // words that a work-item which adds up looks at together

// A word of a digit and a tile: its upper two bits say in which pass it was told, 0 at the start.
#define MASU_MARK_SHIFT 30
#define MASU_TOLD(word) ((word) & ((1U << MASU_MARK_SHIFT) - 1))

inline uint digit_of(const MASU_ELEMENT key, const uint shift, const uint flip) {
  return ((uint)(sort_key(key) >> shift) & (MASU_DIGITS - 1)) ^ flip;
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

inline void count_key(const MASU_ELEMENT key, const uint flip, __local uint *counters, const uint column) {
  const MASU_BITS bits = sort_key(key);
  MASU_PRAGMA_UNROLL
  for (uint pass = 0; pass < MASU_PASSES; ++pass) {
    const uint digit = ((uint)(bits >> (8 * pass)) & (MASU_DIGITS - 1)) ^ flip;
    atomic_inc(&counters[(pass * MASU_DIGITS + digit) * MASU_COLUMNS + column]);
  }
}

// Adds the digits of all keys to `totals`, MASU_DIGITS for each pass.
inline void count_digits(__global const MASU_ELEMENT *from, __global uint *totals, const uint count, const uint flip,
                         __local uint *counters, const uint lid) {
  const uint column = lid % MASU_COLUMNS;
  for (uint i = lid; i < MASU_PASSES * MASU_DIGITS * MASU_COLUMNS; i += MASU_GROUP) counters[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  // Keys in front of the first multiple of 16 bytes, and behind the last one.
  const uint head = min(count, (uint)(((16 - ((size_t)from & 15)) & 15) / MASU_ELEMENT_BYTES));
  const uint vectors = (count - head) / MASU_PER_VECTOR;
  const uint tail = count - head - vectors * MASU_PER_VECTOR;
  if (get_group_id(0) == 0 && lid < head + tail) {
    count_key(from[lid < head ? lid : count - tail + (lid - head)], flip, counters, column);
  }
  __global const uint4 *const whole = (__global const uint4 *)(from + head);
  const uint stride = (uint)get_num_groups(0) * MASU_GROUP;
  uint i = (uint)get_group_id(0) * MASU_GROUP + lid;
  for (; i + (MASU_LOADS - 1) * stride < vectors; i += MASU_LOADS * stride) {
    uint4 held[MASU_LOADS];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_LOADS; ++k) held[k] = masu_load_streaming(whole + i + k * stride);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_LOADS; ++k) {
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
  for (uint digit = lid; digit < MASU_PASSES * MASU_DIGITS; digit += MASU_GROUP) {
    uint sum = 0;
    for (uint k = 0; k < MASU_COLUMNS; ++k) {
      sum += counters[digit * MASU_COLUMNS + ((k + lid) & (MASU_COLUMNS - 1))];
    }
    if (sum != 0) atomic_add(&totals[digit], sum);
  }
}

// ---- passes ----

// The digits in which keys differ, as bits, or, with MASU_INDICES, at least one, as places are written. Values go to and fro,
// so that they need an even number of passes, and so do keys that are not `in_place`. `found`: a word.
inline uint passes_of(__global const uint *totals, const uint count, const uint in_place, __local uint *found,
                      const uint lid) {
  if (lid == 0) found[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lid; i < MASU_PASSES * MASU_DIGITS; i += MASU_GROUP) {
    if (totals[i] == count) atomic_or(&found[0], 1U << i / MASU_DIGITS);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint all = (1U << MASU_PASSES) - 1;
  uint passes = ~found[0] & all;
  if (passes == 0 && (MASU_INDICES || in_place == 0)) passes = 1;
  if (!MASU_INDICES && (popcount(passes) & 1) != 0) passes |= (passes + 1) & ~passes & all;
  return passes;
}

inline void load_keys(__global const MASU_ELEMENT *from, const uint count, const uint tile, const uint own,
                      MASU_ELEMENT *held) {
  const uint first = tile * MASU_TILE;
  if (first + MASU_TILE <= count) {
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_ITEMS; ++i) held[i] = from[first + own + i * 32];
  } else {
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_ITEMS; ++i) held[i] = first + own + i * 32 < count ? from[first + own + i * 32] : 0;
  }
}

// Where the keys of a digit go, tile after tile, from `place` on: `told` has their counts, MASU_DIGITS apart.
inline void add_up(__global volatile const uint *told, __global volatile uint *places, const uint tiles,
                   const uint mark, uint place) {
  for (uint tile = 0; tile < tiles;) {
    uint words[MASU_AHEAD];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) words[k] = told[(size_t)min(tile + k, tiles - 1) * MASU_DIGITS];
    uint run = 0;  // words that all lanes have
    bool there = true;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) {
      there = there && masu_all_lanes(words[k] >> MASU_MARK_SHIFT == mark);
      run += there ? 1 : 0;
    }
    run = min(run, tiles - tile);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_AHEAD; ++k) {
      if (k < run) {
        places[(size_t)(tile + k) * MASU_DIGITS] = mark << MASU_MARK_SHIFT | place;
        place += MASU_TOLD(words[k]);
      }
    }
    tile += run;
  }
}

// Only where `state` holds a word that is not 0; the word behind it, and `totals`, are zeros at the start. The first pass reads
// `keys`; then keys go to and fro between `parted` and `sorted`, and values between `moved`, where they begin and end, and
// `moved_too`. Fewer than 2^30 keys.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sort_once(
    __global const uchar *keys, const ulong keys_at, __global uchar *parted, const ulong parted_at,
    __global uchar *sorted, const ulong sorted_at, __global uchar *moved, const ulong moved_at,
    __global uchar *moved_too, const ulong moved_too_at, __global uchar *scratch, const ulong state_at,
    const ulong totals_at, const ulong told_at, const uint count, const uint flipped, const uint in_place,
    __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __global volatile uint *const state = MASU_AT(volatile uint, state_at);
  if (state[0] == 0) return;
  __local MASU_ELEMENT *const staging = (__local MASU_ELEMENT *)local_memory;
  __local MASU_VALUE *const waiting = (__local MASU_VALUE *)(staging + MASU_TILE);
  __local uint *const bases = (__local uint *)(waiting + MASU_TILE);
  __local uint *const partial = bases + MASU_DIGITS;
  __local ushort *const counters = (__local ushort *)(partial + 16);
  const uint lid = (uint)get_local_id(0);
  const uint lane = lid % 32;
  const uint sub_group = lid / 32;
  const uint own = sub_group * 32 * MASU_ITEMS + lane;
  const uint flip = flipped != 0 ? MASU_DIGITS - 1 : 0;
  const uint sorters = (uint)get_num_groups(0) - 1;
  const uint tiles = (count + MASU_TILE - 1) / MASU_TILE;
  __global uint *const totals = MASU_AT(uint, totals_at);
  __global volatile uint *const told = MASU_AT(volatile uint, told_at) + lid;
  __global volatile uint *const places = told + (size_t)tiles * MASU_DIGITS;

  for (uint tile = (uint)get_group_id(0); tile < tiles; tile += (uint)get_num_groups(0)) {
    if (lid < MASU_DIGITS) told[(size_t)tile * MASU_DIGITS] = places[(size_t)tile * MASU_DIGITS] = 0;
  }
  count_digits((__global const MASU_ELEMENT *)(keys + keys_at), totals, count, flip, (__local uint *)local_memory, lid);
  wait_for_all(state + 1, 1, lid);
  const uint passes = passes_of(totals, count, in_place, partial, lid);
  const uint needed = popcount(passes);
  uint done = 0;
  for (uint pass = 0; pass < MASU_PASSES; ++pass) {
    if ((passes >> pass & 1) == 0) continue;
    if (done != 0) wait_for_all(state + 1, 1 + done, lid);
    const uint shift = 8 * pass;
    const bool to_sorted = ((needed - done) & 1) != 0;
    const bool first_pass = done == 0;
    const uint mark = done % 3 + 1;
    ++done;
    __global const MASU_ELEMENT *const from =
        (__global const MASU_ELEMENT *)(first_pass  ? keys + keys_at
                                        : to_sorted ? (__global const uchar *)(parted + parted_at)
                                                    : (__global const uchar *)(sorted + sorted_at));
    __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(to_sorted ? sorted + sorted_at : parted + parted_at);
    const bool writes_keys = !MASU_INDICES || done != needed;
    __global MASU_VALUE *const own_moved = (__global MASU_VALUE *)(moved + moved_at);
    __global MASU_VALUE *const other_moved = (__global MASU_VALUE *)(moved_too + moved_too_at);
    __global const MASU_VALUE *const values_from = first_pass || !to_sorted ? own_moved : other_moved;
    __global MASU_VALUE *const values_to = to_sorted ? own_moved : other_moved;

    if (get_group_id(0) == sorters) {
      if (lid < MASU_DIGITS) bases[lid] = totals[pass * MASU_DIGITS + lid];
      barrier(CLK_LOCAL_MEM_FENCE);
      if (lid < MASU_DIGITS) {
        uint begin = 0;
        for (uint i = 0; i < MASU_DIGITS; ++i) begin += i < lid ? bases[i] : 0;
        add_up(told, places, tiles, mark, begin);
      }
      continue;
    }

    uint begin = 0;  // of the digit lid, in the tile that lies in local memory
    MASU_ELEMENT held[MASU_ITEMS];
    uint tile = (uint)get_group_id(0);
    if (tile < tiles) load_keys(from, count, tile, own, held);
    for (;; tile += sorters) {
      const uint first = tile * MASU_TILE;
      const uint size = tile < tiles ? min(count - first, (uint)MASU_TILE) : 0;
      uint upto = 0;
      uint ranks[(MASU_ITEMS + 1) / 2];  // two of 16 bits
      __local ushort *const own_counters = counters + sub_group * MASU_DIGITS;
      if (tile < tiles) {
        for (uint i = lid; i < MASU_SUB_GROUPS * MASU_DIGITS / 2; i += MASU_GROUP) ((__local uint *)counters)[i] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        // A key's place among those of its digit in the sub-group's part. What stands behind the last key comes last.
        MASU_PRAGMA_UNROLL
        for (uint i = 0; i < MASU_ITEMS; ++i) {
          const uint digit = own + i * 32 < size ? digit_of(held[i], shift, flip) : MASU_DIGITS - 1;
          const uint equals = masu_lanes_like(digit, 8);
          const uint rank = own_counters[digit] + popcount(equals & ((1U << lane) - 1));
          ranks[i / 2] = masu_computed(i % 2 == 0 ? rank : ranks[i / 2] | rank << 16);
          masu_sub_group_barrier();
          if (equals >> lane == 1) own_counters[digit] = (ushort)(rank + 1);
          masu_sub_group_barrier();
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        // The tile's counts are told; each counter becomes the place of the sub-group's first key of the digit.
        uint total = 0;
        uint before[MASU_SUB_GROUPS / 2];  // two of 16 bits
        if (lid < MASU_DIGITS) {
          MASU_PRAGMA_UNROLL
          for (uint i = 0; i < MASU_SUB_GROUPS / 2; ++i) {
            before[i] = total;
            total += counters[2 * i * MASU_DIGITS + lid];
            before[i] |= total << 16;
            total += counters[(2 * i + 1) * MASU_DIGITS + lid];
          }
          told[(size_t)tile * MASU_DIGITS] = mark << MASU_MARK_SHIFT | total;
          upto = masu_scan_lanes(total);
          if (lane == 31) partial[sub_group] = upto;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < MASU_DIGITS) {
          upto -= total;
          MASU_PRAGMA_UNROLL
          for (uint i = 0; i < MASU_DIGITS / 32; ++i) upto += i < sub_group ? partial[i] : 0;
          MASU_PRAGMA_UNROLL
          for (uint i = 0; i < MASU_SUB_GROUPS; ++i) {
            counters[i * MASU_DIGITS + lid] = (ushort)((before[i / 2] >> i % 2 * 16) + upto);
          }
        }
      }
      if (tile >= sorters) {  // the tile in front of it is written
        const uint last = tile - sorters;
        const uint there = min(count - last * MASU_TILE, (uint)MASU_TILE);
        if (lid < MASU_DIGITS) {
          uint word = places[(size_t)last * MASU_DIGITS];
          while (word >> MASU_MARK_SHIFT != mark) word = places[(size_t)last * MASU_DIGITS];
          bases[lid] = MASU_TOLD(word) - begin;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        MASU_PRAGMA_UNROLL
        for (uint i = 0; i < MASU_ITEMS; ++i) {
          const uint place = i * MASU_GROUP + lid;
          const MASU_ELEMENT key = staging[place];
          const uint goes = bases[digit_of(key, shift, flip)] + place;
          if (place < there) {
            if (writes_keys) to[goes] = key;
            values_to[goes] = waiting[place];
          }
        }
      }
      if (tile >= tiles) break;
      barrier(CLK_LOCAL_MEM_FENCE);
      MASU_VALUE values[MASU_ITEMS];
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_ITEMS; ++i) {
        const uint place = own + i * 32;
#if MASU_INDICES
        if (first_pass) {
          values[i] = first + place;
          continue;
        }
#endif
        values[i] = values_from[first + (place < size ? place : 0)];
      }
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_ITEMS; ++i) {
        const uint digit = own + i * 32 < size ? digit_of(held[i], shift, flip) : MASU_DIGITS - 1;
        const uint place = (ranks[i / 2] >> i % 2 * 16 & 0xffff) + own_counters[digit];
        const uint other = ranks[i / 2] & (i % 2 == 0 ? 0xffff0000U : 0xffffU);
        ranks[i / 2] = masu_computed(other | place << i % 2 * 16);
        staging[place] = held[i];
      }
      if (tile + sorters < tiles) load_keys(from, count, tile + sorters, own, held);
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_ITEMS; ++i) waiting[ranks[i / 2] >> i % 2 * 16 & 0xffff] = values[i];
      begin = upto;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Crowded buckets whose keys differ in their lower 16 bits only, counted and written anew, in OpenCL C 1.2 (and, after the
// CUDA prelude, in CUDA C++). The counters of all 65,536 values need 128 KiB of local memory; where it has less, a quarter of
// the values is counted at a time, of all keys.
//   crowd_tally  counts and writes buckets, each by one work-group
//   huge_count   counts the largest buckets, all work-groups together
//   huge_fill    writes them
// sort_key.cl, sort_placed.cl, group_scan.cl, sort_lists.cl and sort_marks.cl stand in front of this file.
//
// kernels.md has the parameters, which sort_keys_plan.cpp gives.

enum {
  range_values = 65536 / MASU_RANGES,        // values that are counted at a time
  tally_words = range_values / 2,       // two counters of 16 bits a word
  window_places = MASU_GROUP * places_each,
};

// Where the local memory is used for what. huge_fill has no counters.
inline __local ushort *tally_marks(__local uint *memory) { return (__local ushort *)memory; }
inline __local uint *tally_partial(__local uint *memory) { return memory + window_places / 2; }
inline __local uint *tally_begins(__local uint *memory) { return tally_partial(memory) + MASU_GROUP; }  // of each block, and what is found once
inline __local uint *tally_counters(__local uint *memory) { return tally_begins(memory) + MASU_GROUP + 4; }
inline __local uint *tally_overflows(__local uint *memory) { return tally_counters(memory) + tally_words; }

// A table of a bucket's values in device memory: a word each, or, of a bucket of fewer than 65,536 keys, half a word.
inline void add_to_table(__global uint *table, const bool halves, const uint value, const uint number) {
  if (halves) atomic_add(&table[value / 2], number << (value & 1) * 16);
  else atomic_add(&table[value], number);
}

// What runs over half a counter goes to `table`, or, where there is none, to `overflows`.
inline void settle_value(const uint value, const uint least, __local uint *counters, __local uint *overflows,
                         __global uint *table, const bool halves) {
  atomic_sub(&counters[spread_word(value >> 1)], 0x8000U << ((value & 1) << 4));
  if (table != 0) add_to_table(table, halves, least + value, 0x8000U);
  else overflows[1 + atomic_inc(&overflows[0])] = value;
}

enum { held_values = 8 };  // values that a work-item counts at once
// Counts those of `values` that are in the range from `least` on, by their places there. All are added before any is looked
// at: an addition takes long to return.
MASU_INLINE void tally_values(const uint *values, const uint least, __local uint *memory, __global uint *table,
                              const bool halves, const uint lid) {
  __local uint *const counters = tally_counters(memory);
  __local uint *const overflows = tally_overflows(memory);
  uint olds[held_values];
  bool full = false;
  // Where a lane's first keys agree, others may.
  if (masu_lanes_agree(values[0])) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < held_values; ++k) {
      const bool agree = masu_lanes_agree(values[k]);
      if (values[k] < range_values && (!agree || lid % MASU_SHUFFLE_LANES == 0)) {
        const uint number = agree ? MASU_SHUFFLE_LANES : 1;
        const uint old = add_to_counter(values[k], number, counters);
        if (old < 0x8000 && old + number >= 0x8000) settle_value(values[k], least, counters, overflows, table, halves);
      }
    }
    return;
  }
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < held_values; ++k) {
    olds[k] = 0;
    if (values[k] < range_values) olds[k] = add_to_counter(values[k], 1, counters);
  }
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < held_values; ++k) full = full || olds[k] == 0x7fff;
  if (full) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < held_values; ++k) {
      if (olds[k] == 0x7fff) settle_value(values[k], least, counters, overflows, table, halves);
    }
  }
}

// Counts those of `size` keys that are in the range from `least` on. Begins without a barrier and ends with one.
MASU_INLINE void tally_keys(__global const MASU_ELEMENT *from, const uint size, const uint least, __local uint *memory,
                            __global uint *table, const bool halves, const uint lid) {
  __local uint *const counters = tally_counters(memory);
  __local uint *const overflows = tally_overflows(memory);
  for (uint i = lid; i < tally_words; i += MASU_GROUP) counters[i] = 0;
  if (lid == 0) overflows[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint done = 0;
  uint values[held_values];
#if MASU_ELEMENT_BYTES == 4
  // Vectors of 16 bytes, four of each work-item, as long as all have some.
  const uint head = (uint)((16 - ((size_t)from & 15)) & 15) / 4;
  if (size >= head + 16 * MASU_GROUP) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < held_values; ++k) values[k] = (k == 0 && lid < head ? (uint)from[lid] & 0xffff : 0x10000) - least;
    tally_values(values, least, memory, table, halves, lid);
    __global const uint4 *vectors = (__global const uint4 *)(from + head) + lid;
    for (done = head; size - done >= 16 * MASU_GROUP; done += 16 * MASU_GROUP) {
      uint4 held[4];
      MASU_PRAGMA_UNROLL
      for (uint v = 0; v < 4; ++v) held[v] = vectors[v * MASU_GROUP];
      vectors += 4 * MASU_GROUP;
      MASU_PRAGMA_UNROLL
      for (uint v = 0; v < 4; v += 2) {
        words_of_vector(held[v], values);
        words_of_vector(held[v + 1], values + 4);
        MASU_PRAGMA_UNROLL
        for (uint k = 0; k < held_values; ++k) values[k] = (values[k] & 0xffff) - least;
        tally_values(values, least, memory, table, halves, lid);
      }
    }
  }
#endif
  for (uint first = done; first < size; first += held_values * MASU_GROUP) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < held_values; ++k) {
      const uint place = first + k * MASU_GROUP + lid;
      values[k] = (place < size ? (uint)from[place] & 0xffff : 0x10000) - least;
    }
    tally_values(values, least, memory, table, halves, lid);
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // the keys have been read
}

// How many keys have a value, by the counters or by a table, in either of which it is the number `value`.
inline uint keys_of(const uint value, __local const uint *counters, __local const uint *overflows, const uint runs_over,
                    __global const uint *table, const bool halves) {
  if (table != 0) return halves ? table[value / 2] >> (value & 1) * 16 & 0xffff : table[value];
  uint number = counters[spread_word(value >> 1)] >> ((value & 1) << 4) & 0xffff;
  for (uint i = 0; i < runs_over; ++i) number += overflows[1 + i] == value ? 0x8000 : 0;
  return number;
}

// Writes those of the places [lo, hi) of keys that begin at `to` which the counted ones fill, window by window: the value of a
// place is the greatest one whose keys begin there or before. `all`: values that are counted, all or a range; `base`: what is
// added to each. Returns how many keys are counted.
MASU_INLINE uint write_values(__global MASU_ELEMENT *to, const uint lo, const uint limit, const uint all,
                              const MASU_ELEMENT base, const MASU_ELEMENT flip, __local uint *memory,
                              __global const uint *table, const bool halves, const uint lid) {
  __local ushort *const marks = tally_marks(memory);
  __local uint *const partial = tally_partial(memory);
  __local uint *const counters = tally_counters(memory);
  __local uint *const overflows = tally_overflows(memory);
  __local uint *const begins = tally_begins(memory);
  __local uint *const found = begins + MASU_GROUP;
  const uint lane = lid % MASU_SHUFFLE_LANES;
  const uint lane_values = all / MASU_GROUP / MASU_SHUFFLE_LANES;
  const uint block_values = all / MASU_GROUP;  // of which all lanes take the next ones together
  const uint runs_over = table != 0 ? 0 : overflows[0];
  for (uint block = lid / MASU_SHUFFLE_LANES; block < MASU_GROUP; block += MASU_GROUP / MASU_SHUFFLE_LANES) {
    uint keys = 0;
    for (uint k = 0; k < lane_values; ++k) {
      keys += keys_of(block * block_values + lane * lane_values + k, counters, overflows, runs_over, table, halves);
    }
    keys = masu_sum_lanes(keys);
    if (lane == 0) begins[block] = keys;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint total;
  const uint own_keys = begins[lid];
  const uint end = group_scan(own_keys, MASU_GROUP, partial, lid, &total);
  const uint begin = end - own_keys;
  begins[lid] = begin;
  const uint hi = min(limit, total);
  uint carried = 0;  // the value at the place before the window
  for (uint window = lo; window < hi; window += window_places) {
    const uint places = min(hi - window, (uint)window_places);
    const uint none[4] = {0, 0, 0, 0};
    for (uint i = lid; i < (places + places_each - 1) / places_each * (places_each / 8); i += MASU_GROUP) {
      ((__local uint4 *)marks)[i] = vector_of(none);
    }
    if (begin <= window && end > window) found[0] = lid;
    if (begin < window + places && end >= window + places) found[1] = lid;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint last = found[1];
    for (uint block = found[0] + lid / MASU_SHUFFLE_LANES; block <= last;
         block += MASU_GROUP / MASU_SHUFFLE_LANES) {
      const uint first = block * block_values + lane * lane_values;
      uint numbers[65536 / MASU_GROUP / MASU_SHUFFLE_LANES];
      uint keys = 0;
      for (uint k = 0; k < lane_values; ++k) {
        keys += numbers[k] = keys_of(first + k, counters, overflows, runs_over, table, halves);
      }
      uint at = begins[block] + masu_scan_lanes(keys) - keys;
      for (uint k = 0; k < lane_values; ++k) {
        // What begins before the first window is marked there.
        const uint mark = max(at, lo) - window;  // wraps in front of the window
        if (numbers[k] != 0 && at + numbers[k] > window && mark < places) marks[mark] = (ushort)(first + k);
        at += numbers[k];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    carried = spread_marks(marks, places, carried, partial, lid);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < places_each; ++k) {
      const uint i = k * MASU_GROUP + lid;
      if (i < places) to[window + i] = natural_key(base + marks[i], flip);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return total;
}

// Entries: first key, keys, and whether they are in `parted`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void crowd_tally(__global uchar *sorted, const ulong sorted_at,
                                                      __global uchar *parted, const ulong parted_at,
                                                      __global uchar *workspace, const ulong header_at,
                                                      const ulong entries_at, const ulong huges_at, const uint flipped,
                                                      __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const memory = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
  const uint group = (uint)get_group_id(0);
  const uint groups = (uint)get_num_groups(0);
  const uint found = SORT_AT(const uint, header_at)[header_tallies];
  const MASU_ELEMENT flip = flipped != 0 ? MASU_ALL_BITS : 0;
  __local uint *const next = tally_begins(memory) + MASU_GROUP + 2;
  for (;;) {  // buckets differ in size: who is done takes the next one
    if (lid == 0) *next = atomic_inc(&SORT_AT(uint, header_at)[header_next_tally]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint entry = *next;
    if (entry >= found) break;
    __global const uint *const row = SORT_AT(const uint, entries_at) + (size_t)entry * 3;
    const uint begin = row[0];
    const uint size = row[1];
    __global const MASU_ELEMENT *const from =
        (row[2] != 0 ? (__global const MASU_ELEMENT *)(parted + parted_at) : (__global const MASU_ELEMENT *)(sorted + sorted_at)) +
        begin;
    __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + begin;
    const MASU_ELEMENT base = from[0] & ~(MASU_ELEMENT)0xffff;
#if MASU_RANGES == 1
    tally_keys(from, size, 0, memory, 0, false, lid);
    write_values(to, 0, size, range_values, base, flip, memory, 0, false, lid);
#else
    // What is written must not be read again: it goes to `parted` first.
    __global MASU_ELEMENT *const other = (__global MASU_ELEMENT *)(parted + parted_at) + begin;
    uint done = 0;
    for (uint least = 0; least < 65536; least += range_values) {
      tally_keys(from, size, least, memory, 0, false, lid);
      done += write_values(other + done, 0, size, range_values, base + least, flip, memory, 0, false, lid);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (uint i = lid; i < size; i += MASU_GROUP) to[i] = other[i];
#endif
  }
  // The tables of huge_count.
  const uint huges = SORT_AT(const uint, header_at)[header_huges];
  for (uint i = 0; i < huges; ++i) {
    __global uint *const table =
        (__global uint *)((__global MASU_ELEMENT *)(parted + parted_at) + SORT_AT(const uint, huges_at)[3 * i]);
    const uint words = SORT_AT(const uint, huges_at)[3 * i + 1] < 65536 ? 32768 : 65536;
    for (uint word = group * MASU_GROUP + lid; word < words; word += groups * MASU_GROUP) table[word] = 0;
  }
}

// For each part of the huge buckets that is this work-group's share: the bucket's first key, its table, which lies in
// `parted` where its keys were, and the part [lo, hi) of its keys. As many neighbouring work-groups as `ranges` share one.
#define SORT_EACH_SHARE(ranges, work)                                                                               \
  const uint huges = SORT_AT(const uint, header_at)[header_huges];                                            \
  const ulong all = SORT_AT(const uint, header_at)[header_huge_keys];                                         \
  const ulong first = all * (get_group_id(0) / (ranges)) / (get_num_groups(0) / (ranges));                  \
  const ulong limit = all * (get_group_id(0) / (ranges) + 1) / (get_num_groups(0) / (ranges));             \
  ulong passed = 0;                                                                                         \
  for (uint i = 0; i < huges && passed < limit; ++i) {                                                     \
    const uint begin = SORT_AT(const uint, huges_at)[3 * i];                                                \
    const uint size = SORT_AT(const uint, huges_at)[3 * i + 1];                                             \
    const uint lo = (uint)min(max(first, passed) - passed, (ulong)size);                                    \
    const uint hi = (uint)min(limit - passed, (ulong)size);                                                \
    __global uint *const table = (__global uint *)((__global MASU_ELEMENT *)(parted + parted_at) + begin);  \
    const bool halves = size < 65536;                                                                       \
    passed += size;                                                                                         \
    if (lo < hi) {                                                                                          \
      work                                                                                                  \
    }                                                                                                       \
  }

__kernel MASU_WORK_GROUP(MASU_GROUP) void huge_count(__global const uchar *sorted, const ulong sorted_at,
                                                     __global uchar *parted, const ulong parted_at,
                                                     __global uchar *workspace, const ulong header_at,
                                                     const ulong huges_at, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const memory = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
  const uint least = (uint)get_group_id(0) % MASU_RANGES * range_values;
  SORT_EACH_SHARE(MASU_RANGES,
    tally_keys((__global const MASU_ELEMENT *)(sorted + sorted_at) + begin + lo, hi - lo, least, memory, table,
               halves, lid);
    for (uint i = lid; i < tally_words; i += MASU_GROUP) {
      const uint pair = tally_counters(memory)[spread_word(i)];
      if (halves) {
        if (pair != 0) atomic_add(&table[least / 2 + i], pair);
        continue;
      }
      if ((pair & 0xffff) != 0) atomic_add(&table[least + 2 * i], pair & 0xffff);
      if (pair >> 16 != 0) atomic_add(&table[least + 2 * i + 1], pair >> 16);
    }
    barrier(CLK_LOCAL_MEM_FENCE);)
}

__kernel MASU_WORK_GROUPS(MASU_GROUP, 2) void huge_fill(__global uchar *sorted, const ulong sorted_at,
                                                    __global uchar *parted, const ulong parted_at,
                                                    __global uchar *workspace, const ulong header_at,
                                                    const ulong huges_at, const uint flipped,
                                                    __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const memory = (__local uint *)local_memory;
  const uint lid = (uint)get_local_id(0);
  const MASU_ELEMENT flip = flipped != 0 ? MASU_ALL_BITS : 0;
  SORT_EACH_SHARE(1,
    __global MASU_ELEMENT *const to = (__global MASU_ELEMENT *)(sorted + sorted_at) + begin;
    const MASU_ELEMENT base = (MASU_ELEMENT)SORT_AT(const uint, huges_at)[3 * i + 2] << 16;
    write_values(to, lo, hi, 65536, base, flip, memory, table, halves, lid);)
}

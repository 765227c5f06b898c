// SPDX-License-Identifier: Apache-2.0
// The last step of a top-k: a work-group brings the first k entries into order, in local memory. topk_elements.cl and
// topk_select.cl stand in front of this file. Defines beside those of them, given by topk_plan.cpp:
#ifndef MASU_FROM_ROWS  // 1: the entries are the elements of rows; 0: what topk_filter gathered
#error "MASU_FROM_ROWS is not defined"
#endif
#ifndef MASU_BATCH      // entries that a work-item loads at once
#error "MASU_BATCH is not defined"
#endif

// Puts `places` (a power of two) entries into order, the greatest key first and of equal ones the lowest index.
// MASU_PAIRS 1: keys and indices apart; 0: keys alone. Begins and ends with a barrier.
inline void order_entries(__local ulong *keys, __local uint *indices, const uint places) {
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint size = 2; size <= places; size *= 2) {
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      for (uint i = (uint)get_local_id(0); i < places / 2; i += MASU_GROUP) {
        const uint a = 2 * i - (i & (distance - 1));
        const uint b = a + distance;
        const ulong key_a = keys[a];
        const ulong key_b = keys[b];
#if MASU_PAIRS
        const uint index_a = indices[a];
        const uint index_b = indices[b];
        const bool b_first = key_b > key_a || (key_b == key_a && index_b < index_a);
#else
        const bool b_first = key_b > key_a;
#endif
        // Blocks of `size` are put into descending and ascending order in turns.
        if (b_first == ((a & size) == 0)) {
          keys[a] = key_b;
          keys[b] = key_a;
#if MASU_PAIRS
          indices[a] = index_b;
          indices[b] = index_a;
#endif
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}

#if MASU_FROM_ROWS
#define MASU_ENTRY MASU_BITS
#define MASU_LOAD_ENTRY(i) element_at(bytes, i)
#define MASU_OPEN_ENTRY(entry, i) \
  const uint index = i;           \
  const ulong key = key_of_entry(rank_of(entry), index);
#elif MASU_PAIRS
#define MASU_ENTRY ulong
#define MASU_LOAD_ENTRY(i) keys[i]
#define MASU_OPEN_ENTRY(entry, i) \
  const ulong key = entry;        \
  const uint index = indices[i];  \
  (void)index;
#else
#define MASU_ENTRY ulong
#define MASU_LOAD_ENTRY(i) keys[i]
#define MASU_OPEN_ENTRY(entry, i) \
  const ulong key = entry;        \
  const uint index = ~(uint)key;  \
  (void)index;
#endif

// Between these two stands what is done with the `key` and `index` of each entry. Every work-item goes round as often:
// PoCL 3.1 goes astray else, between barriers (2026-11). For its sake, too, no barrier of this file stands in a branch, and
// there is no `continue`.
#define MASU_FOR_ENTRIES                                                        \
  for (uint round = 0; round < entries; round += MASU_GROUP * MASU_BATCH) {     \
    MASU_ENTRY batch[MASU_BATCH];                                               \
    MASU_UNROLLED                                                               \
    for (uint b = 0; b < MASU_BATCH; ++b) {                                     \
      const uint i = round + b * MASU_GROUP + lane;                             \
      batch[b] = i < entries ? MASU_LOAD_ENTRY(i) : 0;                          \
    }                                                                           \
    MASU_UNROLLED                                                               \
    for (uint b = 0; b < MASU_BATCH; ++b) {                                     \
      const uint i = round + b * MASU_GROUP + lane;                             \
      if (i < entries) {                                                        \
        MASU_OPEN_ENTRY(batch[b], i)
#define MASU_END }}}

// Finds the `rest`-th greatest number of those entries that MASU_IS_IN says, eight bits at a time from bit `top` on
// downwards, a multiple of eight; `prefix` is what all have above it. `least` is then a bound that just the wanted ones
// reach, or all equal to the last one too. Ends early when all that have a digit are wanted.
#define MASU_SELECT(MASU_IS_IN, MASU_NUMBER)                                      \
  for (int shift = top - 8; shift >= 0; shift -= 8) {                             \
    clear_words(tables, MASU_DIGITS * MASU_COPIES);                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                 \
    MASU_FOR_ENTRIES                                                              \
      const ulong front = (MASU_NUMBER) >> shift;                                 \
      if ((MASU_IS_IN) && front >> 8 == prefix) count_digit(tables, (uint)front & 255u); \
    MASU_END                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                 \
    find_digit(tables, sums, state, rest);                                        \
    prefix = prefix << 8 | state[0];                                              \
    rest -= state[1];                                                             \
    least = prefix << shift;                                                      \
    if (state[2] == rest) shift = 0;                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                 \
  }

// `places`, a power of two, is at least k. `entry_keys` has room for the tables of a selection too, `words` for 24. Of
// rows: `count` elements each, and the NaNs of each that were skipped go to `row_nans`.
#if MASU_FROM_ROWS
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_rows(MASU_DATA, const uint rows, const uint places,
                                                    __global uchar *nans, const ulong nans_at, MASU_RESULT,
                                                    __local ulong *entry_keys, __local uint *entry_indices,
                                                    __local uint *words) {
#else
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_finish(MASU_DATA, MASU_WORK, const uint most_entries, const uint places,
                                                      MASU_RESULT, __local ulong *entry_keys,
                                                      __local uint *entry_indices, __local uint *words) {
#endif
  MASU_LOCAL_POINTER(ulong, entry_keys);
  MASU_LOCAL_POINTER(uint, entry_indices);
  MASU_LOCAL_POINTER(uint, words);
  // The tables and the entries are not there at the same time.
  __local uint *tables = (__local uint *)entry_keys;
  __local uint *sums = words;
  __local uint *state = words + 16;
  const uint lane = (uint)get_local_id(0);
#if !MASU_FROM_ROWS
  const size_t row = 0;
  __global const uchar *bytes = data + byte_offset;
  __global const uint *control = MASU_AT(const uint, control_at);
  __global const ulong *keys = MASU_AT(const ulong, keys_at);
#if MASU_PAIRS
  __global const uint *indices = MASU_AT(const uint, indices_at);
#endif
  const ulong gathered = (ulong)control[control_above] + control[control_taken];
  const uint entries = gathered < most_entries ? (uint)gathered : most_entries;
  {
#else
  const uint entries = count;
  for (size_t row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    __global const uchar *bytes = data + byte_offset + row * count * MASU_VALUE_BYTES;
#endif
    // The bits in which the keys differ: no digit above them needs a look.
    if (lane < 8) state[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong differing = 0;
    ulong one_key = 0;
#if MASU_FROM_ROWS
    uint my_nans = 0;
#endif
    if (entries != 0) {
      MASU_OPEN_ENTRY(MASU_LOAD_ENTRY(0), 0)
      one_key = key;
    }
    MASU_FOR_ENTRIES
      differing |= key ^ one_key;
#if MASU_FROM_ROWS
      if (is_skipped(key)) ++my_nans;
#endif
    MASU_END
    if ((uint)differing != 0) atomic_or(&state[4], (uint)differing);
    if (differing >> 32 != 0) atomic_or(&state[5], (uint)(differing >> 32));
#if MASU_FROM_ROWS
    if (my_nans != 0) atomic_add(&state[6], my_nans);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    differing = (ulong)state[5] << 32 | state[4];
#if MASU_FROM_ROWS
    const uint all_nans = state[6];
#endif
    int top = (71 - (int)clz(differing)) / 8 * 8;
    const uint wanted = entries < k ? entries : k;
    uint rest = wanted;
    // Where all are wanted, there is nothing to select.
    if (wanted == entries) top = 0;
    ulong least = wanted == entries ? 0 : one_key;  // of the wanted keys
    ulong prefix = top == 64 ? 0 : one_key >> top;
    uint last_index = UINT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_SELECT(true, key)
#if MASU_PAIRS
    // Of the least key, those with the lowest indices.
    if (lane < 2) state[4 + lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint my_above = 0;
    uint my_same = 0;
    MASU_FOR_ENTRIES
      my_above += key > least ? 1 : 0;
      my_same += key == least ? 1 : 0;
    MASU_END
    if (my_above != 0) atomic_add(&state[4], my_above);
    if (my_same != 0) atomic_add(&state[5], my_same);
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong least_key = least;
    const bool tied = state[4] + state[5] > wanted;
    rest = wanted - state[4];
    top = tied ? 32 : 0;
    prefix = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_SELECT(key == least_key, (ulong)(uint)~index)
    if (tied) last_index = ~(uint)least;
    least = least_key;
#endif
    if (lane == 0) state[3] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_FOR_ENTRIES
      if (key > least || (key == least && (!MASU_PAIRS || index <= last_index))) {
        const uint place = atomic_inc(&state[3]);
        if (place < places) {
          entry_keys[place] = key;
#if MASU_PAIRS
          entry_indices[place] = index;
#endif
        }
      }
    MASU_END
    for (uint i = lane; i < places; i += MASU_GROUP) {
      if (i >= wanted) {
        entry_keys[i] = 0;
#if MASU_PAIRS
        entry_indices[i] = UINT_MAX;
#endif
      }
    }
    order_entries(entry_keys, entry_indices, places);
    for (uint i = lane; i < wanted; i += MASU_GROUP) {
      const ulong key = entry_keys[i];
#if MASU_PAIRS
      const uint index = entry_indices[i];
#else
      const uint index = ~(uint)key;
#endif
      set_result(bytes, key, index, row * k + i, MASU_RESULT_ARGUMENTS);
    }
#if MASU_FROM_ROWS
    if (lane == 0) ((__global uint *)(nans + nans_at))[row] = all_nans;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

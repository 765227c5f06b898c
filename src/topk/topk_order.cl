// SPDX-License-Identifier: Apache-2.0
// The last step of a top-k: a work-group brings the first k entries into order, in local memory. topk_select.cl
// stands in front of this file. kernels.md has the parameters, which topk_plan.cpp gives.

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
#define TOPK_ENTRY MASU_BITS
#define TOPK_LOAD_ENTRY(i) element_at(bytes, i)
#define TOPK_OPEN_ENTRY(entry, i) \
  const uint index = i;           \
  const ulong key = key_of_entry(rank_of(entry), index);
#elif MASU_PAIRS
#define TOPK_ENTRY ulong
#define TOPK_LOAD_ENTRY(i) keys[i]
#define TOPK_OPEN_ENTRY(entry, i) \
  const ulong key = entry;        \
  const uint index = indices[i];  \
  (void)index;
#else
#define TOPK_ENTRY ulong
#define TOPK_LOAD_ENTRY(i) keys[i]
#define TOPK_OPEN_ENTRY(entry, i) \
  const ulong key = entry;        \
  const uint index = ~(uint)key;  \
  (void)index;
#endif

// Between these two stands what is done with the `key` and `index` of each entry. Every work-item goes round as often:
// PoCL 3.1 goes astray else, between barriers (2026-11). For its sake, too, no barrier of this file stands in a branch, and
// there is no `continue`.
#define TOPK_FOR_ENTRIES                                                        \
  for (uint round = 0; round < entries; round += MASU_GROUP * MASU_BATCH) {     \
    TOPK_ENTRY batch[MASU_BATCH];                                               \
    MASU_UNROLLED                                                               \
    for (uint b = 0; b < MASU_BATCH; ++b) {                                     \
      const uint i = round + b * MASU_GROUP + lane;                             \
      batch[b] = i < entries ? TOPK_LOAD_ENTRY(i) : 0;                          \
    }                                                                           \
    MASU_UNROLLED                                                               \
    for (uint b = 0; b < MASU_BATCH; ++b) {                                     \
      const uint i = round + b * MASU_GROUP + lane;                             \
      if (i < entries) {                                                        \
        TOPK_OPEN_ENTRY(batch[b], i)
#define TOPK_END }}}

// What a selection looks at, eight bits at a time from bit `shift` on: the key and, below it, the index of those that have
// the least key that is wanted.
#if MASU_PAIRS
#define TOPK_LAST_SHIFT (-32)
#define TOPK_FRONT (shift >= 0 ? key >> shift : (ulong)(uint)~index >> (shift + 32))
#define TOPK_IS_IN (shift >= 0 || key == least)
#else
#define TOPK_LAST_SHIFT 0
#define TOPK_FRONT (key >> shift)
#define TOPK_IS_IN true
#endif

// `places`, a power of two, is at least k. `entry_keys` has room for the tables of a selection too, `words` for 24. Of
// rows: `count` elements each, and the NaNs of each that were skipped go to `nans`; where it rescues, nothing is done unless
// the sample misled topk_filter, which had room for `capacity` entries.
#if MASU_FROM_ROWS
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_rows(TOPK_DATA, const uint rows, const uint places,
                                                    __global uchar *nans, const ulong nans_at,
                                                    __global const uchar *work, const ulong control_at,
                                                    const uint capacity, const uint rescues, TOPK_RESULT,
                                                    __local ulong *entry_keys, __local uint *entry_indices,
                                                    __local uint *words) {
#else
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_finish(TOPK_DATA, TOPK_WORK, const uint most_entries, const uint places,
                                                      TOPK_RESULT, __local ulong *entry_keys,
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
  __global const uint *control = TOPK_AT(const uint, control_at);
  __global const ulong *keys = TOPK_AT(const ulong, keys_at);
#if MASU_PAIRS
  __global const uint *indices = TOPK_AT(const uint, indices_at);
#endif
  const ulong gathered = (ulong)control[control_above] + control[control_taken];
  const uint entries = gathered < most_entries ? (uint)gathered : most_entries;
  {
#else
  const uint entries = count;
  __global const uint *control = TOPK_AT(const uint, control_at);
  const bool found = rescues != 0 && control[control_above] <= capacity &&
                     (ulong)control[control_above] + control[control_equal] >= k;
  const uint rows_here = found ? 0 : rows;
  for (size_t row = get_group_id(0); row < rows_here; row += get_num_groups(0)) {
    __global const uchar *bytes = data + byte_offset + row * count * MASU_ELEMENT_BYTES;
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
      TOPK_OPEN_ENTRY(TOPK_LOAD_ENTRY(0), 0)
      one_key = key;
    }
    TOPK_FOR_ENTRIES
      differing |= key ^ one_key;
#if MASU_FROM_ROWS
      if (is_skipped(key)) ++my_nans;
#endif
    TOPK_END
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
    const int top = (71 - (int)clz(differing)) / 8 * 8;
    const uint wanted = entries < k ? entries : k;
    // Wanted are the entries whose key is above `least`, and those that have it and a ~index not below `least_index`.
    ulong least = wanted == entries ? 0 : one_key;
    uint least_index = 0;
    uint rest = wanted;
    ulong prefix = top == 64 || top == 0 ? 0 : one_key >> top;  // what all that are still looked at have above a digit
    barrier(CLK_LOCAL_MEM_FENCE);
    // Where all are wanted, there is nothing to select.
    for (int shift = wanted == entries ? TOPK_LAST_SHIFT - 8 : top - 8; shift >= TOPK_LAST_SHIFT; shift -= 8) {
      clear_words(tables, TOPK_DIGITS * MASU_COPIES);
      barrier(CLK_LOCAL_MEM_FENCE);
      TOPK_FOR_ENTRIES
        const ulong front = TOPK_FRONT;
        if (TOPK_IS_IN && front >> 8 == prefix) count_digit(tables, (uint)front & 255u);
      TOPK_END
      barrier(CLK_LOCAL_MEM_FENCE);
      find_digit(tables, sums, state, rest);
      prefix = prefix << 8 | state[0];
      rest -= state[1];
      if (shift >= 0) {
        least = prefix << shift;
      } else {
        least_index = (uint)(prefix << (shift + 32));
      }
      if (shift == 0) prefix = 0;  // those of the index come next
      if (state[2] == rest) shift = TOPK_LAST_SHIFT;  // all that have the digit are wanted
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) state[3] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    TOPK_FOR_ENTRIES
      if (key > least || (key == least && ~index >= least_index)) {
        const uint place = atomic_inc(&state[3]);
        if (place < places) {
          entry_keys[place] = key;
#if MASU_PAIRS
          entry_indices[place] = index;
#endif
        }
      }
    TOPK_END
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
      set_result(bytes, key, index, row * k + i, TOPK_RESULT_ARGUMENTS);
    }
#if MASU_FROM_ROWS
    if (lane == 0) ((__global uint *)(nans + nans_at))[row] = all_nans;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

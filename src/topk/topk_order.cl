// SPDX-License-Identifier: Apache-2.0
// The last step of a top-k: the first k entries are selected and brought into order, in local memory, by a work-group, or a row's
// by the work-groups of a cluster. topk_select.cl stands in front of this file. kernels.md has the parameters, which
// topk_plan.cpp gives.

// Puts `places` (a power of two) entries into order, the greatest key first and of equal ones the lowest index.
// TOPK_PAIRS 1: keys and indices apart; 0: keys alone. Begins and ends with a barrier.
inline void order_entries(__local ulong *keys, __local uint *indices, const uint places) {
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint size = 2; size <= places; size *= 2) {
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      for (uint i = (uint)get_local_id(0); i < places / 2; i += MASU_GROUP) {
        const uint a = 2 * i - (i & (distance - 1));
        const uint b = a + distance;
        const ulong key_a = keys[a];
        const ulong key_b = keys[b];
#if TOPK_PAIRS
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
#if TOPK_PAIRS
          indices[a] = index_b;
          indices[b] = index_a;
#endif
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}

// Whether entry a comes before entry b.
inline bool is_before(__local const ulong *keys, __local const uint *indices, const uint a, const ulong key_b,
                      const uint index_b) {
#if TOPK_PAIRS
  return keys[a] > key_b || (keys[a] == key_b && indices[a] < index_b);
#else
  return keys[a] > key_b;
#endif
}

inline void put_entry(__local ulong *keys, __local uint *indices, const uint place, const uint run, const MASU_BITS rank,
                      const uint index) {
  SELECT_OF_GROUP(keys, place / run)[place] = key_of_entry(rank, index);
#if TOPK_PAIRS
  SELECT_OF_GROUP(indices, place / run)[place] = index;
#endif
}

// `places`, a power of two, is at least k, and MASU_CLUSTER times a work-group's share of them; `words` are those of a selection. Of
// rows: `count` elements each, and the NaNs of each that were skipped go to `nans`; where it rescues, nothing is done unless
// the sample misled topk_filter, which had room for `capacity` entries.
#if MASU_FROM_ROWS
__kernel MASU_WORK_GROUPS(MASU_GROUP, SELECT_ROW_GROUPS) SELECT_CLUSTERS void topk_rows(
    TOPK_DATA, const uint rows, const uint places, __global uchar *nans, const ulong nans_at, __global const uchar *work,
    const ulong control_at, const uint capacity, const uint rescues, TOPK_RESULT, __local ulong *keys,
    __local uint *indices, __local uint *words, const uint share, __local uint4 *held) {
#else
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_finish(TOPK_DATA, TOPK_WORK, const uint most_entries, const uint places,
                                                      TOPK_RESULT, __local ulong *keys, __local uint *indices,
                                                      __local uint *words) {
#endif
  MASU_LOCAL_POINTER(ulong, keys);
  MASU_LOCAL_POINTER(uint, indices);
  MASU_LOCAL_POINTER(uint, words);
#if MASU_FROM_ROWS
  MASU_LOCAL_POINTER(uint4, held);
#endif
  __local uint *tables = words;
  __local uint *partial = tables + 2 * SELECT_ROW_DIGITS;
  __local uint *state = partial + MASU_GROUP;
  const uint lane = (uint)get_local_id(0);
  const uint run = places / MASU_CLUSTER;  // entries that a work-group orders
  const uint first = SELECT_PART * run;
  __global const uint *control = TOPK_AT(const uint, control_at);
  Row row;
#if MASU_FROM_ROWS
  row.held = held;
  row.share = share;
  row.entries = count;
  row.index_bits = 32 - clz(count);
  const bool found = rescues != 0 && control[control_above] <= capacity &&
                     (ulong)control[control_above] + control[control_equal] >= k;
  const uint rows_here = found ? 0 : rows;
  for (size_t r = get_group_id(0) / MASU_CLUSTER; r < rows_here; r += get_num_groups(0) / MASU_CLUSTER) {
    row.bytes = data + byte_offset + r * count * MASU_ELEMENT_BYTES;
#else
  const ulong gathered = (ulong)control[control_above] + control[control_taken];
  row.entries = gathered < most_entries ? (uint)gathered : most_entries;
  row.index_bits = 32;
  row.bytes = data + byte_offset;
  row.keys = TOPK_AT(const ulong, keys_at);
  row.indices = TOPK_AT(const uint, indices_at);
  const size_t r = 0;
  {
#endif
    if (lane < row_words) state[lane] = 0;
    for (uint i = lane; i < run; i += MASU_GROUP) {
      keys[first + i] = 0;
#if TOPK_PAIRS
      indices[first + i] = UINT_MAX;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_HELD
    hold_row(row);
#endif
    MASU_BITS one = 0;
#if MASU_FROM_ROWS
    one = rank_of(element_at(row.bytes, 0));
#else
    if (row.entries != 0) {
      SELECT_OPEN(SELECT_LOAD(0), 0)
      (void)index;
      one = rank;
    }
#endif
    const MASU_BITS differing = look_at_row(row, one, false, 0, state);
#if MASU_FROM_ROWS
    if (lane == 0 && SELECT_PART == 0) {
      uint none = 0;
      SELECT_JOIN(none, state + row_none, +=)
      ((__global uint *)(nans + nans_at))[r] = none;
    }
#endif
    const uint wanted = row.entries < k ? row.entries : k;
    const Selected last = select_greatest(row, wanted, places, false, one, differing, tables, partial, state);
#define TOPK_IS_TAKEN (rank > last.least || (rank == last.least && ~index >= last.least_index))
#if MASU_CLUSTER > 1
    // The work-group's share of the places, then the work-item's.
    uint place = 0;
    SELECT_FOR_ENTRIES
      if (TOPK_IS_TAKEN) ++place;
    SELECT_END
    if (place != 0) place = atomic_add(&state[row_taken], place);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) partial[0] = atomic_add(SELECT_OF_GROUP(state, 0) + row_all_taken, state[row_taken]);
    barrier(CLK_LOCAL_MEM_FENCE);
    place += partial[0];
    SELECT_FOR_ENTRIES
      if (TOPK_IS_TAKEN && place < places) put_entry(keys, indices, place++, run, rank, index);
    SELECT_END
    SELECT_ROW_BARRIER
#else
    SELECT_FOR_ENTRIES
      if (TOPK_IS_TAKEN) {
        const uint place = atomic_inc(&state[row_taken]);
        if (place < places) put_entry(keys, indices, place, run, rank, index);
      }
    SELECT_END
#endif
    order_entries(keys + first, indices + (TOPK_PAIRS ? first : 0), run);
#if MASU_CLUSTER > 1
    // An entry's place: how many are before it in each run.
    __local uint *before = tables;
    for (uint i = lane; i < run; i += MASU_GROUP) before[i] = i;
    SELECT_ROW_BARRIER
    for (uint i = lane; i < places; i += MASU_GROUP) {
      if (i / run != SELECT_PART) {
        keys[i] = SELECT_OF_GROUP(keys, i / run)[i];
#if TOPK_PAIRS
        indices[i] = SELECT_OF_GROUP(indices, i / run)[i];
#endif
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lane; i < places; i += MASU_GROUP) {
      const uint entry = first + i % run;
      const uint index = TOPK_PAIRS ? indices[entry] : 0;
      const uint other = i / run * run;
      uint found = 0;
      for (uint step = other == first ? 0 : run; step > 0; step /= 2) {
        if (found + step <= run && is_before(keys, indices, other + found + step - 1, keys[entry], index)) found += step;
      }
      if (found != 0) atomic_add(&before[i % run], found);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#define TOPK_PLACE_OF(i) before[i]
#else
#define TOPK_PLACE_OF(i) (i)
#endif
    for (uint i = lane; i < run; i += MASU_GROUP) {
      const uint place = TOPK_PLACE_OF(i);
      if (place < wanted) {
        const ulong key = keys[first + i];
#if TOPK_PAIRS
        const uint index = indices[first + i];
#else
        const uint index = ~(uint)key;
#endif
        set_result(row.bytes, key, index, r * k + place, TOPK_RESULT_ARGUMENTS);
      }
    }
    // Nobody looks at this one's memory any longer.
    SELECT_ROW_BARRIER
  }
}

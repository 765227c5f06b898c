// SPDX-License-Identifier: Apache-2.0
// The last step of a top-k: the first k entries are selected and brought into order, in local memory, by a work-group, or a row's
// by the work-groups of a cluster. topk_select.cl and topk_network.cl stand in front of this file. kernels.md has the
// parameters, which topk_plan.cpp gives.

// `places`, at least k, is for how many entries there is room; `words` are those of a selection. Of rows: `count` elements each, and
// the NaNs of each that were skipped go to `nans`; where it rescues, nothing is done unless the sample misled topk_filter,
// which had room for `capacity` entries.
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
  __global const uint *control = TOPK_AT(const uint, control_at);
  Row row;
#if MASU_FROM_ROWS
#define TOPK_END_OF_ROW row.entries
  row.held = held;
  const bool found = rescues != 0 && control[control_above] <= capacity &&
                     (ulong)control[control_above] + control[control_equal] >= min(k, TOPK_LENGTH(0));
  const uint rows_here = found ? 0 : rows;
  for (size_t r = get_group_id(0) / MASU_CLUSTER; r < rows_here; r += get_num_groups(0) / MASU_CLUSTER) {
    row.bytes = data + byte_offset + r * count * MASU_ELEMENT_BYTES;
    row.entries = TOPK_LENGTH(r);
    row.index_bits = 32 - clz(row.entries);
    take_part(&row, share);
#else
#define TOPK_END_OF_ROW UINT_MAX
  const ulong gathered = (ulong)control[control_above] + control[control_taken];
  row.entries = gathered < most_entries ? (uint)gathered : most_entries;
  row.index_bits = 32;
  row.first = 0;
  row.bytes = data + byte_offset;
  row.keys = TOPK_AT(const ulong, keys_at);
  row.indices = TOPK_AT(const uint, indices_at);
  const size_t r = 0;
  {
#endif
    if (lane < row_words) state[lane] = 0;
    clear_words(tables, SELECT_ROW_DIGITS);
    barrier(CLK_LOCAL_MEM_FENCE);
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
    const MASU_BITS differing = look_at_row(row, one, false, tables, state);
#if MASU_FROM_ROWS
    if (lane == 0 && SELECT_PART == 0) {
      uint none = 0;
      SELECT_JOIN(none, state + row_none, +=)
      ((__global uint *)(nans + nans_at))[r] = none;
    }
#endif
    const uint wanted = row.entries < k ? row.entries : k;
    Selected last;
    select_greatest(row, wanted, places, false, one, differing, tables, partial, state, &last);
#define TOPK_IS_TAKEN \
  ((rank > last.least || (rank == last.least && ~index >= last.least_index)) && index < TOPK_END_OF_ROW)
    SELECT_FOR_ENTRIES(last.least)
      if (TOPK_IS_TAKEN) {
        const uint place = atomic_inc(&state[row_taken]);
        if (place < places) {
          keys[place] = key_of_entry(rank, index);
#if TOPK_PAIRS
          indices[place] = index;
#endif
        }
      }
    SELECT_END
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint taken = min(state[row_taken], places);
    uint run = 1;
    while (run < taken) run *= 2;
    for (uint i = taken + lane; i < run; i += MASU_GROUP) {
      keys[i] = 0;
#if TOPK_PAIRS
      indices[i] = UINT_MAX;
#endif
    }
    order_entries(keys, indices, run);
#if MASU_CLUSTER > 1
    // After its own entries a work-group puts those of the others, which are in order, too.
    uint begins[MASU_CLUSTER];
    uint numbers[MASU_CLUSTER];
    uint all = taken;
    SELECT_ROW_BARRIER
    MASU_UNROLLED
    for (uint group = 0; group < MASU_CLUSTER; ++group) {
      numbers[group] = group == SELECT_PART ? 0 : SELECT_OF_GROUP(state, group)[row_taken];
      begins[group] = all;
      all += numbers[group];
    }
    for (uint i = taken + lane; i < min(all, places); i += MASU_GROUP) {
      MASU_UNROLLED
      for (uint group = 0; group < MASU_CLUSTER; ++group) {
        if (i - begins[group] < numbers[group]) {
          keys[i] = SELECT_OF_GROUP(keys, group)[i - begins[group]];
#if TOPK_PAIRS
          indices[i] = SELECT_OF_GROUP(indices, group)[i - begins[group]];
#endif
        }
      }
    }
    SELECT_ROW_BARRIER  // nobody looks at others' memory any longer
#endif
    for (uint i = lane; i < taken; i += MASU_GROUP) {
      const ulong key = keys[i];
#if TOPK_PAIRS
      const uint index = indices[i];
#else
      const uint index = ~(uint)key;
#endif
      uint place = i;
#if MASU_CLUSTER > 1
      // How many of each of the others come before it.
      uint ahead[MASU_CLUSTER] = {0};
      for (uint step = (uint)1 << (31 - clz(all)); step > 0; step /= 2) {
        MASU_UNROLLED
        for (uint group = 0; group < MASU_CLUSTER; ++group) {
          const uint next = ahead[group] + step;
          if (next <= numbers[group] && is_before(keys, indices, begins[group] + next - 1, key, index)) ahead[group] = next;
        }
      }
      MASU_UNROLLED
      for (uint group = 0; group < MASU_CLUSTER; ++group) place += ahead[group];
#endif
      if (place < wanted) set_result(row.bytes, key, index, r * k + place, TOPK_RESULT_ARGUMENTS);
    }
    for (uint i = wanted + SELECT_PART * MASU_GROUP + lane; i < k; i += MASU_CLUSTER * MASU_GROUP) {
      set_result(row.bytes, 0, TOPK_NO_INDEX, r * k + i, TOPK_RESULT_ARGUMENTS);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

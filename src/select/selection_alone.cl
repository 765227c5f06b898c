// SPDX-License-Identifier: Apache-2.0
// A work-group that selects alone, pass after pass: from short rows, and the bounds from a sample. Behind selection.cl.

// The work-group finds what is at both places of some elements.
#define SELECT_LOADED 8
MASU_INLINE void select_here(__global const uchar *bytes, const uint count, const uint place0, const uint place1,
                             __local uint *tables, __local uint *state, __local uint *partial, __local uint *seen) {
  const uint lane = (uint)get_local_id(0);
  if (lane == 0) {
    begin_state(state, count, place0, place1);
    *seen = 0;
  }
  for (uint pass = 0; pass < SELECT_PASSES; ++pass) {
    for (uint i = lane; i < 2 * SELECT_DIGITS; i += MASU_GROUP) tables[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const Wanted wanted = wanted_of(state, pass);
    uint mine = 0;
    for (uint first = lane; first < wanted.left; first += SELECT_LOADED * MASU_GROUP) {
      MASU_BITS loaded[SELECT_LOADED];
      MASU_UNROLLED
      for (int i = 0; i < SELECT_LOADED; ++i) {
        loaded[i] = first + i * MASU_GROUP < wanted.left ? element_at(bytes, first + i * MASU_GROUP) : 0;
      }
      MASU_UNROLLED
      for (int i = 0; i < SELECT_LOADED; ++i) {
        if (first + i * MASU_GROUP < wanted.left) {
          count_key(ordered_key(loaded[i]), wanted, tables);
          mine |= seen_of(loaded[i]);
        }
      }
    }
    if (mine != 0 && pass == 0) atomic_or(seen, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint table = 0; table <= wanted.two; ++table) {
      uint share[SELECT_SHARE];
      for (uint i = 0; i < SELECT_SHARE; ++i) share[i] = tables[table * SELECT_DIGITS + lane * SELECT_SHARE + i];
      add_digits(share, pass, table, wanted.two, state, partial);
    }
  }
}

// A work-group takes a row at a time.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_rows(SELECT_DATA, const uint rows, const uint place0, const uint place1,
                                                         SELECT_RESULT, const ulong stride, const uint signs,
                                                         __local uint *tables, __local uint *partial,
                                                         __local uint *state) {
  MASU_LOCAL_POINTER(uint, tables);
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __local uint *seen = state + state_words;
  __local uint *minus = seen + 1;
  for (uint row = (uint)get_group_id(0); row < rows; row += (uint)get_num_groups(0)) {
    __global const uchar *bytes = data + byte_offset + (ulong)row * count * MASU_ELEMENT_BYTES;
    select_here(bytes, count, place0, place1, tables, state, partial, seen);
#if MASU_FLOAT
    for (uint which = 0; which < 2; ++which) {
      if (get_local_id(0) == 0) minus[which] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      const bool wanted = signs != 0 && is_zero_key(key_at(state, which)) && (*seen & SELECT_SEEN_MINUS) != 0;
      find_zero(bytes, 0, count, rest_at(state, which), wanted, partial, &minus[which]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (get_local_id(0) == 0) {
      const ulong at = row * stride;
      store_result(state, *seen, minus, place0 == place1, what, results + results_at, at + first, at + second,
                   mark == SELECT_NO_MARK ? mark : at + mark);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// One work-group: the bounds are the elements at two places of the sample.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_bounds(__global uchar *work, const ulong control_at,
                                                           const ulong list_at, const uint samples, const uint lower,
                                                           const uint upper, const uint has, __local uint *tables,
                                                           __local uint *partial, __local uint *state) {
  MASU_LOCAL_POINTER(uint, tables);
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __global uint *bounds = (__global uint *)(work + control_at) + control_bounds;
  select_here(work + list_at, samples, lower, upper, tables, state, partial, state + state_words);
  if (get_local_id(0) == 0) {
    const ulong low = (has & SELECT_HAS_LOWER) != 0 ? key_at(state, 0) : 0;
    const ulong high = (has & SELECT_HAS_UPPER) != 0 ? key_at(state, 1) : MASU_ALL_BITS;
    const bool nan = MASU_FLOAT && (low == MASU_ALL_BITS || ((has & SELECT_HAS_UPPER) != 0 && high == MASU_ALL_BITS));
    bounds[0] = (uint)low;
    bounds[1] = (uint)(low >> 32);
    bounds[2] = (uint)high;
    bounds[3] = (uint)(high >> 32);
    bounds[4] = nan ? SELECT_IS_NAN : has;
  }
}

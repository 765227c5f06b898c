// SPDX-License-Identifier: Apache-2.0
// The bounds of a search from a sample, by one work-group. After selection.cl and selection_row.cl.

// The bounds are the elements at two places of the sample.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_bounds(__global uchar *work, const ulong control_at,
                                                           const ulong list_at, const uint samples, const uint lower,
                                                           const uint upper, const uint has, __local uint *words,
                                                           const uint share, __local uint4 *held) {
  MASU_LOCAL_POINTER(uint, words);
  MASU_LOCAL_POINTER(uint4, held);
  __global uint *bounds = (__global uint *)(work + control_at) + control_bounds;
  Row row;
  row.held = held;
  row.share = share;
  row.bytes = work + list_at;
  row.entries = samples;
  row.index_bits = 0;
  for (uint which = 0; which < 2; ++which) {
    const uint place = which == 0 ? lower : upper;
    const bool is_there = (has & (which == 0 ? SELECT_HAS_LOWER : SELECT_HAS_UPPER)) != 0;
    const MASU_BITS key = select_pair(row, place, place, words).rank0;
    if (get_local_id(0) == 0) {
      const ulong bound = is_there ? key : which == 0 ? 0 : MASU_ALL_BITS;
      bounds[2 * which] = (uint)bound;
      bounds[2 * which + 1] = (uint)(bound >> 32);
      if (which == 0) bounds[4] = has;
      if (MASU_FLOAT && is_there && key == MASU_ALL_BITS) bounds[4] = SELECT_IS_NAN;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

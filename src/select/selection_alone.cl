// SPDX-License-Identifier: Apache-2.0
// Elements at one or two neighbouring places of each row, by a work-group or a cluster. After selection.cl and selection_row.cl.

// A work-group or a cluster takes a row at a time. The places are equal, or neighbours.
__kernel MASU_WORK_GROUPS(MASU_GROUP, SELECT_ROW_GROUPS) SELECT_CLUSTERS void selection_rows(
    SELECT_DATA, const uint rows, const uint place0, const uint place1, SELECT_RESULT, const ulong stride,
    const uint signs, __local uint *words, const uint share, __local uint4 *held) {
  MASU_LOCAL_POINTER(uint, words);
  MASU_LOCAL_POINTER(uint4, held);
  __local uint *partial = words + 2 * SELECT_ROW_DIGITS;
  __local uint *minus = partial + MASU_GROUP + row_minus;
  Row row;
  row.held = held;
  row.entries = count;
  row.index_bits = 0;
  take_part(&row, share);
  for (uint r = (uint)get_group_id(0) / MASU_CLUSTER; r < rows; r += (uint)get_num_groups(0) / MASU_CLUSTER) {
    row.bytes = data + byte_offset + (ulong)r * count * MASU_ELEMENT_BYTES;
    Pair pair;
    select_pair(row, place0, place1, words, &pair);
    const bool first_part = SELECT_PART == 0;
#if MASU_FLOAT
    for (uint which = 0; which < 2; ++which) {
      if (get_local_id(0) == 0) minus[which] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      const bool wanted = first_part && signs != 0 && is_zero_key(which == 0 ? pair.rank0 : pair.rank1) &&
                          (pair.seen & ORDER_SEEN_MINUS) != 0;
      find_zero(row.bytes, 0, count, which == 0 ? pair.equal0 : pair.equal1, wanted, partial, &minus[which]);
    }
#endif
    // Nobody looks at this one's memory any longer.
    SELECT_ROW_BARRIER
    if (get_local_id(0) == 0 && first_part) {
      const ulong at = r * stride;
      store_result(pair.rank0, pair.rank1, pair.seen, minus, place0 == place1, what, results + results_at, at + first,
                   at + second, mark == SELECT_NO_MARK ? mark : at + mark);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

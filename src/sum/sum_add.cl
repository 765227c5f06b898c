// SPDX-License-Identifier: Apache-2.0
// Exact sums of rows that work-groups share. Behind sum_floats.cl or sum_integers.cl, whose add_unit() adds a work-group's
// share of a row to the row's totals.
//
// Defines beside those of them, given by sum_plan.cpp:
// - MASU_BOTH  1: in the program that tries variances alone, which has no use for the kernel

#if !MASU_BOTH
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_add(MASU_PARAMETERS, __local uint *table
                                                                           MASU_FINISH_PARAMETERS) {
  MASU_LOCAL_POINTER(uint, table);
  MASU_FINISH_POINTERS
  clear(table);
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t units = unsure_at != MASU_ALWAYS && totals[unsure_at / 4] == 0 ? 0 : (size_t)rows * shares;
  for (size_t unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
    const size_t row = unit / shares;
    add_unit(x, x_at, y, y_at, count, rows, shares, unit, table, totals + totals_at / 4 + row * (2 * MASU_TABLE_ROWS),
             totals + flags_at / 4 + row);
    MASU_FINISH(totals)
  }
}
#endif

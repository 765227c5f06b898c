// SPDX-License-Identifier: Apache-2.0
// Exact totals of rows that work-groups share, for the host; all zeros before. After sum_floats.cl or sum_integers.cl, whose
// add_unit() adds a work-group's share of a row to the row's totals.

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_add(SUM_PARAMETERS, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  clear(table);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t unit = get_group_id(0); unit < (size_t)rows * shares; unit += get_num_groups(0)) {
    const size_t row = unit / shares;
    add_unit(x, x_at, y, y_at, count, rows, columns, shares, unit, table, totals + totals_at / 4 + row * (2 * MASU_TABLE_ROWS),
             totals + flags_at / 4 + row);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Rows that are the columns of matrices, after sum_round.cl, with MASU_BY_COLUMN.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

// 2^team_bits work-items of each of `shares` work-groups share a column; a work-group takes neighbours. Where there are shares
// each leaves its parts, and the last one puts them together. left_at: where those that were there are counted, in zeros that
// are left as zeros.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_columns(
    SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const uint team_bits, const ulong parts_at, __global uint *left,
    const ulong left_at, __local uint *table, SUM_FINISH_PARAMETERS, __local ulong *parts, __local uint *unsure) {
  MASU_LOCAL_POINTER(ulong, parts);  // SUM_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, unsure);  // 1 + the rows that a work-group takes
  const uint me = (uint)get_local_id(0);
  const uint team = SUM_TEAM(me, team_bits);
  const uint teams = MASU_GROUP >> team_bits;
  const uint lane = SUM_TEAM_LANE(me, team_bits);
  const uint strip = (uint)(get_group_id(0) / shares);
  const size_t share = get_group_id(0) - strip * (size_t)shares;
  const size_t strips = get_num_groups(0) / shares;
  for (size_t begin = (size_t)strip * teams; begin < rows; begin += strips * teams) {
    if (me == 0) unsure[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t mine = begin + team;
    bool last = true;
    ulong part[SUM_PART_WORDS] = {0};
#if MASU_QUICK
    {
      // A team without a row reads the last one again.
      const size_t row = mine < rows ? mine : (size_t)rows - 1;
      const size_t stride = (size_t)shares << team_bits;
      const size_t first = (share << team_bits) + lane;
      SUM_ROW
      SUM_START_PART
      SUM_ADD_VECTORS(first, vectors)
      SUM_END_PART
    }
    join_parts(part, team_bits, parts);
#endif
#if MASU_SHARES_COLUMNS
    if (shares > 1) {
      __global ulong *kept = (__global ulong *)(totals + parts_at / 4) + (mine < rows ? mine : (size_t)rows - 1);
      if (lane == 0 && mine < rows) {
        for (int w = 0; w < SUM_PART_WORDS; ++w) kept[(share * SUM_PART_WORDS + w) * rows] = part[w];
      }
      __global uint *strip_left = left + left_at / 4 + strip;
      last = is_last_group(strip_left, shares, true, unsure + 1);
      barrier(CLK_LOCAL_MEM_FENCE);  // all know before `unsure` is written to
      if (last) {
        if (me == 0) *strip_left = 0;
        SUM_START_PART
        SUM_END_PART
        for (size_t i = lane; i < shares; i += (size_t)1 << team_bits) {
          ulong other[SUM_PART_WORDS];
          for (int w = 0; w < SUM_PART_WORDS; ++w)
            other[w] = ((__global const volatile ulong *)kept)[(i * SUM_PART_WORDS + w) * rows];
          add_part(part, other);
        }
        join_parts(part, team_bits, parts);
      }
    }
#endif
    const bool any = last && lane == 0 && mine < rows;
    const ulong depth = (count / shares >> team_bits) + shares + 2 * team_bits + 4;
    round_rows(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, begin, mine, any, part, depth, team_bits, 1, table,
               SUM_FINISH_ARGUMENTS, parts, unsure);
  }
}

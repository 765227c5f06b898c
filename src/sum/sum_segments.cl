// SPDX-License-Identifier: Apache-2.0
// The sums of segments of any lengths, after sum_round.cl in place of sum_rows.cl. A team of work-items adds a segment. What
// is long for a team, and what no bound proves, is listed; the work-group adds those one after the other, and exactly
// where that proves nothing either.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#define SUM_OF_LOADS (MASU_UNROLL * SUM_LOADED)
#define SUM_DEPTH(count) (MASU_FINE ? (count) : (count) / SUM_OF_LOADS + SUM_OF_LOADS + MASU_UNROLL / MASU_REST)
// Loads of a work-item from which on a segment is long.
#define SUM_LONG_LOADS (4 * MASU_UNROLL)

// A team's part of `count` elements from x_at on, and the most additions that one of them goes through.
inline ulong segment_part(__global const uchar *restrict x, const ulong x_at, const ulong count, const uint team_bits,
                          ulong *part, __local ulong *parts) {
#if MASU_QUICK
  const size_t row = 0;
  const ulong y_at = 0;
  (void)y_at;
  const size_t stride = (size_t)1 << team_bits;
  const size_t first = SUM_TEAM_LANE((uint)get_local_id(0), team_bits);
  SUM_ROW
  SUM_START_PART
  SUM_ADD_VECTORS(first, vectors)
  SUM_ADD_EDGES
  SUM_END_PART
  join_parts(part, team_bits, parts);
#endif
  return SUM_DEPTH(count >> team_bits) + 2 * MASU_PER_VECTOR + 2 * team_bits + 4;
}

// Segment s is elements [offsets[s], offsets[s + 1]) of `elements`; what lies beyond these, or before its begin, is none.
// A work-group has words for the totals of one.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_segments(
    __global const uchar *restrict data, const ulong data_at, __global const uchar *restrict offset_memory,
    const ulong offsets_at, const ulong elements, const ulong segments, __global uint *totals, const ulong totals_at,
    const ulong flags_at, SUM_RESULT_PARAMETERS, const uint team_bits, __local uint *table, SUM_FINISH_PARAMETERS,
    __local ulong *parts, __local uint *listed) {
  MASU_LOCAL_POINTER(uint, table);
  SUM_FINISH_POINTERS
  MASU_LOCAL_POINTER(ulong, parts);  // SUM_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, listed);  // 3 and the segments that a work-group takes
  __global const ulong *const offsets = (__global const ulong *)(offset_memory + offsets_at);
  __global uint *own_totals = totals + totals_at / 4 + get_group_id(0) * SUM_ROW_WORDS;
  __global uint *own_kinds = totals + flags_at / 4 + 2 * get_group_id(0);
  const uint me = (uint)get_local_id(0);
  const uint teams = MASU_GROUP >> team_bits;
  __local uint *const unsure = listed + 1 + teams;  // of the one that the work-group adds
  ulong part[SUM_PART_WORDS] = {0};
  for (size_t begin = (size_t)get_group_id(0) * teams; begin < segments; begin += (size_t)get_num_groups(0) * teams) {
    if (me == 0) listed[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t mine = begin + SUM_TEAM(me, team_bits);
    const ulong from = mine < segments ? min(offsets[mine], elements) : 0;
    const ulong end = mine < segments ? max(from, min(offsets[mine + 1], elements)) : 0;
    const bool is_long = teams > 1 && (end - from) / SUM_LOADED >> team_bits > SUM_LONG_LOADS;
    const ulong count = is_long ? 0 : end - from;
    const ulong depth = segment_part(data, data_at + from * MASU_ELEMENT_BYTES, count, team_bits, part, parts);
    if (SUM_TEAM_LANE(me, team_bits) == 0 && mine < segments) {
      if (is_long) listed[1 + atomic_inc(listed)] = (uint)(mine - begin);
      else round_row(count, SUM_RESULT_ARGUMENTS, begin, mine, part, depth, listed);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint l = 0; l < listed[0]; ++l) {
      const size_t row = begin + listed[1 + l];
      const ulong row_from = min(offsets[row], elements);
      const ulong row_count = max(row_from, min(offsets[row + 1], elements)) - row_from;
      const ulong row_at = data_at + row_from * MASU_ELEMENT_BYTES;
      const ulong row_depth = segment_part(data, row_at, row_count, SUM_GROUP_BITS, part, parts);
      if (me == 0) {
        unsure[0] = 0;
        round_row(row_count, SUM_RESULT_ARGUMENTS, row, row, part, row_depth, unsure);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      // A loop, not a condition: PoCL 3.1 runs the code after a barrier inside of a condition for all work-items.
      for (uint u = 0; u < unsure[0]; ++u) {
        clear_row(own_totals, own_kinds, own_kinds + 1, own_kinds + 1, true);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        add_and_finish(data, row_at, data, 0, row_count, 1, 1, 1, 0, table, own_totals, own_kinds, own_kinds + 1, what,
                       divisor, precision, least, bits, results, results_at + row * (bits / 8), status, status_at, digits,
                       words, value, kept_totals);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

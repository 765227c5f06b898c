// SPDX-License-Identifier: Apache-2.0
// The kernels of results on the device, behind sum_quick.cl.
//
// - sum_rows: rows that one work-group each is enough for, in one launch. A team of work-items adds a row. Those for which
//   the bound proves nothing are added again exactly, by the whole work-group.
// - sum_parts, then sum_joined: rows that several work-groups share. The first leaves a part of each work-group; the second
//   puts the parts together, in each work-group of a row the same, and adds the row exactly if that proves nothing.
// - sum_clusters: both in one launch, where the work-groups of a row may wait for each other.
// No memory need be cleared before, but for sum_joined without MASU_QUICK, which needs nothing before it.
//
// Define beside those in front, given by sum_plan.cpp:
// - MASU_CLUSTER     work-groups of a row that may wait for each other; 1: there are none

// The binary logarithms of MASU_GROUP and MASU_SHUFFLE_LANES, powers of two.
#define MASU_GROUP_BITS (31u - (uint)clz((uint)MASU_GROUP))
#define MASU_LANE_BITS (31u - (uint)clz((uint)MASU_SHUFFLE_LANES))

// The team's part, from those of its work-items, in the first of them; others must not be asked. Teams are
// neighbours, 2^team_bits of them. `parts` is free again after the next barrier.
#if MASU_QUICK
#if MASU_SHUFFLE_LANES > 1
MASU_INLINE void join_lanes(ulong *part, const uint lanes) {
  for (uint distance = lanes >> 1; distance != 0; distance >>= 1) {
    ulong other[MASU_PART_WORDS];
    for (int w = 0; w < MASU_PART_WORDS; ++w) {
      const uint above = masu_shuffle_xor((uint)(part[w] >> 32), distance);
      other[w] = (ulong)above << 32 | masu_shuffle_xor((uint)part[w], distance);
    }
    add_part(part, other);
  }
}
#endif
MASU_INLINE void join_parts(ulong *part, const uint team_bits, __local ulong *parts) {
  const uint me = (uint)get_local_id(0);
#if MASU_SHUFFLE_LANES > 1
  join_lanes(part, min((uint)MASU_SHUFFLE_LANES, 1u << team_bits));
  // Then those of the team's sub-groups, of which there are no more than a sub-group has lanes.
  const uint subs = (1u << team_bits) / MASU_SHUFFLE_LANES;
  if (subs > 1) {
    if (me % MASU_SHUFFLE_LANES == 0) {
      for (int w = 0; w < MASU_PART_WORDS; ++w) parts[w * MASU_GROUP + me / MASU_SHUFFLE_LANES] = part[w];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sub = (me >> team_bits << team_bits) / MASU_SHUFFLE_LANES + (me & (subs - 1));
    for (int w = 0; w < MASU_PART_WORDS; ++w) part[w] = parts[w * MASU_GROUP + sub];
    join_lanes(part, subs);
  }
#else
  const uint lane = me & ((1u << team_bits) - 1u);
  ulong other[MASU_PART_WORDS];
  for (uint distance = 1u << team_bits >> 1; distance != 0; distance >>= 1) {
    for (int w = 0; w < MASU_PART_WORDS; ++w) parts[w * MASU_GROUP + me] = part[w];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      for (int w = 0; w < MASU_PART_WORDS; ++w) other[w] = parts[w * MASU_GROUP + me + distance];
      add_part(part, other);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
}
#endif

// A row's exact totals are zeros before they are added to.
inline void clear_row(__global uint *row_totals, __global uint *kinds, __global uint *arrived, const uint words) {
  for (uint i = (uint)get_local_id(0); i < words; i += MASU_GROUP) row_totals[i] = 0;
  if (words != 0 && get_local_id(0) == 0) {
    *kinds = 0;
    *arrived = 0;
  }
}

// 2^team_bits work-items share a row; `unsure` counts the rows of a round for which nothing was certain.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_rows(
    MASU_PARAMETERS, MASU_RESULT_PARAMETERS, const uint team_bits, __local uint *table, MASU_FINISH_PARAMETERS,
    __local ulong *parts, __local uint *unsure) {
  MASU_LOCAL_POINTER(ulong, parts);  // MASU_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, unsure);  // 1 + the teams of a work-group
  const uint me = (uint)get_local_id(0);
  const uint team = me >> team_bits;
  const uint teams = MASU_GROUP >> team_bits;
  for (size_t begin = get_group_id(0) * teams; begin < rows; begin += get_num_groups(0) * teams) {
    if (me == 0) unsure[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const bool any = begin + team < rows;
    bool sure = false;
#if MASU_QUICK
    ulong part[MASU_PART_WORDS];
    ulong depth = 0;
    {
      // A team without a row reads the last one again.
      const size_t row = any ? begin + team : (size_t)rows - 1;
      const size_t stride = (size_t)1 << team_bits;
      const size_t first = me & (stride - 1);
      MASU_ROW
      MASU_START_PART
      MASU_ADD_VECTORS(first, vectors)
      MASU_ADD_EDGES
      MASU_END_PART
      depth = (count >> team_bits) + 2 * MASU_PER_VECTOR + 2 + team_bits;
    }
    join_parts(part, team_bits, parts);
    if (any && (me & ((1u << team_bits) - 1u)) == 0) {
      ulong found = 0;
      bool fits = true;
      sure = result_of(part, count, depth, what, divisor, precision, least, bits, &found, &fits);
      if (sure) store_result(results + results_at + (begin + team) * (bits / 8), bits, found);
      if (!fits) atomic_or((__global uint *)(status + status_at), 1u);
    }
#endif
    if (any && !sure && (me & ((1u << team_bits) - 1u)) == 0) unsure[1 + atomic_inc(unsure)] = team;
    barrier(CLK_LOCAL_MEM_FENCE);
    // A loop and no condition: PoCL 3.1 runs what stands behind a barrier inside of a condition for all work-items.
    for (uint u = 0; u < unsure[0]; ++u) {
      __global uint *own_totals = totals + totals_at / 4 + get_group_id(0) * MASU_ROW_WORDS;
      __global uint *own_kinds = totals + flags_at / 4 + get_group_id(0);
      __global uint *own_arrived = own_kinds + get_num_groups(0);
      clear_row(own_totals, own_kinds, own_arrived, MASU_ROW_WORDS);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      add_and_finish(x, x_at, y, y_at, count, rows, 1, begin + unsure[1 + u], table, own_totals, own_kinds, own_arrived,
                     what, divisor, precision, least, bits, results, results_at, status, status_at, digits, words, value,
                     kept_totals);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

#if MASU_QUICK
// Leaves the part of a unit, and clears its row's exact totals for join_row().
inline void leave_part(MASU_PARAMETERS, const size_t unit, __global ulong *kept, __local ulong *parts) {
  ulong part[MASU_PART_WORDS];
  MASU_UNIT(unit)
  {
    MASU_START_PART
    MASU_ADD_VECTORS(first, vectors)
    MASU_ADD_EDGES
    MASU_END_PART
  }
  join_parts(part, MASU_GROUP_BITS, parts);
  if (get_local_id(0) == 0) {
    for (int w = 0; w < MASU_PART_WORDS; ++w) kept[unit * MASU_PART_WORDS + w] = part[w];
  }
  clear_row(totals + totals_at / 4 + row * MASU_ROW_WORDS, totals + flags_at / 4 + row,
            totals + flags_at / 4 + rows + row, unit == row * shares ? MASU_ROW_WORDS : 0);
}
#endif

// Puts the parts of a unit's row together; the row's first unit stores what is certain, else all add the row exactly.
// `depth`: the most additions that an element has gone through.
inline void join_row(MASU_PARAMETERS, MASU_RESULT_PARAMETERS, const size_t unit, const ulong depth,
                     __global const ulong *kept, __local uint *table, MASU_FINISH_PARAMETERS, __local ulong *parts,
                     __local uint *unsure) {
  const size_t row = MASU_ROW_OF(unit);
  if (get_local_id(0) == 0) unsure[0] = 1;
#if MASU_QUICK
  ulong part[MASU_PART_WORDS];
  {
    MASU_START_PART
    MASU_END_PART
  }
  for (size_t i = get_local_id(0); i < shares; i += MASU_GROUP) {
    ulong other[MASU_PART_WORDS];
    for (int w = 0; w < MASU_PART_WORDS; ++w) other[w] = kept[(row * shares + i) * MASU_PART_WORDS + w];
    add_part(part, other);
  }
  join_parts(part, shares <= MASU_SHUFFLE_LANES ? MASU_LANE_BITS : MASU_GROUP_BITS, parts);
  if (get_local_id(0) == 0) {
    ulong found = 0;
    bool fits = true;
    const bool sure = result_of(part, count, depth, what, divisor, precision, least, bits, &found, &fits);
    if (sure && unit == row * shares) {
      store_result(results + results_at + row * (bits / 8), bits, found);
      if (!fits) atomic_or((__global uint *)(status + status_at), 1u);
    }
    unsure[0] = sure ? 0 : 1;
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  // A loop and no condition, as above.
  for (uint u = 0; u < unsure[0]; ++u) {
    add_and_finish(x, x_at, y, y_at, count, rows, shares, unit, table, totals + totals_at / 4 + row * MASU_ROW_WORDS,
                   totals + flags_at / 4 + row, totals + flags_at / 4 + rows + row, what, divisor, precision, least,
                   bits, results, results_at, status, status_at, digits, words, value, kept_totals);
  }
}

// Arguments of a function that has the kernel's parameters.
#define MASU_ARGUMENTS x, x_at, y, y_at, count, rows, shares, totals, totals_at, flags_at
#define MASU_RESULT_ARGUMENTS what, divisor, precision, least, bits, results, results_at, status, status_at
// parts_at: where the parts of the work-groups lie, behind the totals.
#define MASU_KEPT ((__global ulong *)(totals + parts_at / 4))

#if MASU_QUICK
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_parts(MASU_PARAMETERS, const ulong parts_at,
                                                                         __local ulong *parts) {
  MASU_LOCAL_POINTER(ulong, parts);  // MASU_PART_WORDS * MASU_GROUP
  leave_part(MASU_ARGUMENTS, get_group_id(0), MASU_KEPT, parts);
}
#endif

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_joined(
    MASU_PARAMETERS, MASU_RESULT_PARAMETERS, const ulong parts_at, const ulong depth, __local uint *table,
    MASU_FINISH_PARAMETERS, __local ulong *parts, __local uint *unsure) {
  MASU_LOCAL_POINTER(ulong, parts);  // MASU_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, unsure);
  join_row(MASU_ARGUMENTS, MASU_RESULT_ARGUMENTS, get_group_id(0), depth, MASU_KEPT, table, digits, words, value,
           kept_totals, parts, unsure);
}

#if MASU_QUICK && MASU_CLUSTER > 1
// Both in one launch, where MASU_CLUSTER work-groups share a row.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) MASU_CLUSTERS(MASU_CLUSTER) void sum_clusters(
    MASU_PARAMETERS, MASU_RESULT_PARAMETERS, const ulong parts_at, const ulong depth, __local uint *table,
    MASU_FINISH_PARAMETERS, __local ulong *parts, __local uint *unsure) {
  MASU_LOCAL_POINTER(ulong, parts);
  MASU_LOCAL_POINTER(uint, unsure);
  leave_part(MASU_ARGUMENTS, get_group_id(0), MASU_KEPT, parts);
  masu_cluster_barrier();
  join_row(MASU_ARGUMENTS, MASU_RESULT_ARGUMENTS, get_group_id(0), depth, MASU_KEPT, table, digits, words, value,
           kept_totals, parts, unsure);
}
#endif

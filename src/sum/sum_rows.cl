// SPDX-License-Identifier: Apache-2.0
// The kernels of results of rows on the device, after sum_round.cl.
//
// - sum_teams: rows that one work-group each is enough for, and the columns of matrices, in one launch. A team of
//   work-items adds a row, or its share of a column. Those for which the bound proves nothing are added again exactly, by
//   sum_round.cl.
// - sum_shared: rows that several work-groups share. Each leaves a part; the last one of a row puts them together and stores
//   what they prove. Where they prove nothing, all that are still there add the row exactly, share after share, and the
//   last one rounds. The others are there for as long as they look for the last one's decision, MASU_LOOKS times: they
//   make the work faster, but none is needed, so no work-group depends on another's progress.
// - sum_clusters: the same where the work-groups of a row may wait for each other.
// Memory that must be zeros before: for sum_shared the words that count a row's parts, which it leaves as zeros; without
// MASU_QUICK the row's totals and other words in their place.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#if MASU_RUNNING
// Prefixes of floats have their elements' format: constants make less code.
#define SUM_PREFIX_BITS (MASU_FLOAT ? 8 * MASU_ELEMENT_BYTES : 64)
#define SUM_PREFIX_OF(count, found) \
  result_of(part, count, depth, what, 1, MASU_FRACTION + 1, least, SUM_PREFIX_BITS, found, &fits)
#endif
#if MASU_LINES > 1
#ifndef SUM_STARTED
#define SUM_STARTED 0
#endif
// Rows that lie one after the other, and at a multiple of that, are loaded in chunks of as many bytes as divide a row.
#define SUM_ROW_BYTES (MASU_UNROLL * MASU_ELEMENT_BYTES)
#define SUM_CHUNK (SUM_ROW_BYTES % 16 == 0 ? 16 : SUM_ROW_BYTES % 8 == 0 ? 8 : 4)
#if SUM_ROW_BYTES % 4 == 0 && SUM_CHUNK > MASU_ELEMENT_BYTES
MASU_INLINE void load_chunk(uint *words, __global const uchar *from) {
#if SUM_CHUNK == 16
  words_of_vector(*(__global const uint4 *)from, words);
#else
  words[0] = *(__global const uint *)from;
  if (SUM_CHUNK == 8) words[1] = ((__global const uint *)from)[1];
#endif
}
#define SUM_ROW_CHUNKS (SUM_ROW_BYTES / SUM_CHUNK)
#define SUM_IN_CHUNK (SUM_CHUNK / MASU_ELEMENT_BYTES)
#define SUM_HOLD_CHUNKS                                                                                          \
  if (columns == 1 && ((size_t)(x + x_at) & (SUM_CHUNK - 1)) == 0) {                                             \
    MASU_UNROLLED                                                                                                \
    for (uint i = 0; i < MASU_LINES * SUM_ROW_CHUNKS; ++i) {                                                     \
      const size_t wanted = begin + i / SUM_ROW_CHUNKS * teams + team;                                           \
      const size_t row = wanted < rows ? wanted : (size_t)rows - 1;                                              \
      uint words[4];                                                                                             \
      load_chunk(words, x + x_at + row * SUM_ROW_BYTES + i % SUM_ROW_CHUNKS * SUM_CHUNK);                        \
      MASU_UNROLLED                                                                                              \
      for (uint e = 0; e < SUM_IN_CHUNK; ++e) held[i * SUM_IN_CHUNK + e] = element_of(words, e);                 \
    }                                                                                                            \
  } else
#else
#define SUM_HOLD_CHUNKS
#endif
// The elements of MASU_LINES rows of a work-item: all are loaded before any is added.
#define SUM_HOLD_ROWS                                                                                            \
  MASU_BITS held[MASU_LINES * MASU_UNROLL];                                                                      \
  SUM_HOLD_CHUNKS                                                                                                \
  MASU_UNROLLED                                                                                                  \
  for (uint i = 0; i < MASU_LINES * MASU_UNROLL; ++i) {                                                          \
    const size_t wanted = begin + i / MASU_UNROLL * teams + team;                                                \
    held[i] = element_at(SUM_ROW_AT(wanted < rows ? wanted : (size_t)rows - 1), i % MASU_UNROLL * SUM_BETWEEN);  \
  }
// One of them. Registers have no index: the code of all rows stands one after the other where a row's is short; else each
// row takes the first one's place.
#if SUM_SHORT || SUM_BY_PIVOT
#define SUM_TURNS MASU_UNROLLED for (uint turn = 0; turn < MASU_LINES; ++turn)
#define SUM_HELD(i) held[turn * MASU_UNROLL + (i)]
#define SUM_NEXT_ROW
#else
#define SUM_HELD(i) held[i]
#define SUM_NEXT_ROW                                                                                             \
  MASU_UNROLLED                                                                                                  \
  for (uint i = 0; i < (MASU_LINES - 1) * MASU_UNROLL; ++i) held[i] = held[i + MASU_UNROLL];
#endif
#define SUM_PART_OF_ROW                                                                                          \
  SUM_START_PART                                                                                                 \
  MASU_UNROLLED                                                                                                  \
  for (uint i = SUM_STARTED; i < MASU_UNROLL; ++i) {                                                             \
    SUM_ADD(SUM_HELD(i), SUM_HELD(i))                                                                            \
    SUM_ROUND_PREFIX                                                                                             \
  }                                                                                                              \
  SUM_NEXT_ROW                                                                                                   \
  SUM_END_PART
#if MASU_RUNNING
#define SUM_ROUND_PREFIX                                                                                         \
  SUM_END_PART                                                                                                   \
  sure = SUM_PREFIX_OF(i + 1, prefixes + i) && sure;
#else
#define SUM_ROUND_PREFIX
#endif
#elif MASU_RUNNING
#define SUM_HOLD_ROWS
#if SUM_SHORT
// If nothing is rounded up to the last of those held, which magnitudes and lowest places tell, all prefixes are known. Those after
// an infinity or a NaN are none of these. Where fewer are left, the first of them is held again.
#define SUM_START_EXACT \
  double size = 0;      \
  uint lowest = UINT_MAX;
#define SUM_EXACT_PREFIXES                                                                                       \
  double whole = size;                                                                                           \
  uint low = lowest;                                                                                             \
  MASU_UNROLLED                                                                                                  \
  for (uint i = 0; i < MASU_UNROLL; ++i) {                                                                       \
    low = min(low, SUM_LOWEST_OF(held[i]));                                                                      \
    whole += fabs(SUM_VALUE(held[i]));                                                                           \
  }                                                                                                              \
  const bool exact = whole <= SUM_EXACT_UP_TO(low);                                                              \
  size = exact ? whole : as_double(0x7ff0000000000000UL);                                                        \
  if (exact) {                                                                                                   \
    lowest = low;                                                                                                \
    MASU_UNROLLED                                                                                                \
    for (uint i = 0; i < MASU_UNROLL; ++i) {                                                                     \
      sum += SUM_VALUE(held[i]);                                                                                 \
      const ulong found = rounded_double(sum, MASU_FRACTION + 1, least, 8 * MASU_ELEMENT_BYTES);                 \
      if (i < here) set_element(to, 0, (MASU_BITS)found);                                                        \
      to += between;                                                                                             \
    }                                                                                                            \
    continue;                                                                                                    \
  }
#else
#define SUM_START_EXACT
#define SUM_EXACT_PREFIXES
#endif
// The prefixes of a column, some of its elements at a time.
#define SUM_PART_OF_ROW                                                                                          \
  const size_t row = wanted < rows ? wanted : (size_t)rows - 1;                                                  \
  __global const uchar *xs = SUM_ROW_AT(row);                                                                    \
  __global uchar *to = SUM_PREFIX_AT(row, 0);                                                                    \
  const size_t between = SUM_BETWEEN * (SUM_PREFIX_BITS / 8);                                                    \
  SUM_START_PART                                                                                                 \
  SUM_START_EXACT                                                                                                \
  for (size_t e = 0; e < count; e += MASU_UNROLL) {                                                              \
    MASU_BITS held[MASU_UNROLL];                                                                                 \
    MASU_UNROLLED                                                                                                \
    for (uint i = 0; i < MASU_UNROLL; ++i) held[i] = element_at(xs, (e + i < count ? e + i : e) * SUM_BETWEEN);  \
    const uint here = wanted < rows ? (uint)min((ulong)(count - e), (ulong)MASU_UNROLL) : 0;                     \
    SUM_EXACT_PREFIXES                                                                                           \
    for (uint k = 0; k < here; ++k) {                                                                            \
      SUM_ADD(held[0], held[0])                                                                                  \
      SUM_END_PART                                                                                               \
      ulong found = 0;                                                                                           \
      sure = SUM_PREFIX_OF(e + k + 1, &found) && sure;                                                           \
      if (sure) store_result(to, SUM_PREFIX_BITS, found);                                                        \
      to += between;                                                                                             \
      MASU_UNROLLED                                                                                              \
      for (uint i = 0; i + 1 < MASU_UNROLL; ++i) held[i] = held[i + 1];                                          \
    }                                                                                                            \
  }
#else
#define SUM_HOLD_ROWS
// Takes row `wanted`. A team without a row reads the last one again.
#define SUM_PART_OF_ROW                                         \
  const size_t row = wanted < rows ? wanted : (size_t)rows - 1; \
  const size_t stride = members << team_bits;                   \
  const size_t first = (share << team_bits) + lane;             \
  SUM_ROW                                                       \
  SUM_START_PART                                                \
  SUM_ADD_VECTORS(first, vectors)                               \
  SUM_ADD_EDGES                                                 \
  SUM_END_PART
#endif

#ifndef SUM_TURNS
#define SUM_TURNS for (uint turn = 0; turn < turns; ++turn)
#endif

// Parts of other work-groups that a work-item waits for at a time.
#define SUM_JOINED 4

// 2^team_bits work-items of each of `shares` work-groups share a row, and take `rounds` of them: more than one only where a
// team is no more than a sub-group, which then waits for no other, and has at least that many work-items, each of which
// rounds one; or, by column, where it is one work-item, which rounds all, and there are no shares: of MASU_LINES rows, or
// of a few longer ones. Where there are shares each leaves its parts, and the last one puts them together. left_at: where
// those that were there are counted, in zeros that are left as zeros.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_teams(
    SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const uint team_bits, const uint rounds, const ulong parts_at,
    __global uint *left, const ulong left_at, __local uint *table, SUM_FINISH_PARAMETERS, __local ulong *parts,
    __local uint *unsure) {
  MASU_LOCAL_POINTER(ulong, parts);  // SUM_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, unsure);  // 1 + the rows that a work-group takes
  const uint me = (uint)get_local_id(0);
  const uint team = SUM_TEAM(me, team_bits);
  const uint teams = MASU_GROUP >> team_bits;
  const uint lane = SUM_TEAM_LANE(me, team_bits);
#if SUM_JOINS_LANES || MASU_BY_COLUMN
  const uint turns = rounds;
#else
  const uint turns = 1;
#endif
#if MASU_SHARES_COLUMNS
  const size_t members = shares;
#else
  const size_t members = 1;
#endif
  const uint strip = (uint)(get_group_id(0) / members);
  const size_t share = get_group_id(0) - strip * members;
  const size_t strips = get_num_groups(0) / members;
  // A work-item adds the elements of some loads, then those sums, then those that are beside vectors.
  const ulong own_count = count / members >> team_bits;
  const ulong depth = (MASU_LINES > 1 || MASU_RUNNING ? count : SUM_DEPTH(own_count)) + members +
                      (MASU_BY_COLUMN ? 0 : 2 * MASU_PER_VECTOR) + 2 * team_bits + 4;
  for (size_t begin = (size_t)strip * teams * turns; begin < rows; begin += strips * teams * turns) {
    SUM_HOLD_ROWS
    if (me == 0) unsure[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t mine = begin + (MASU_BY_COLUMN ? turns - 1 : lane) * (size_t)teams + team;
    bool last = true;
    ulong own[SUM_PART_WORDS] = {0};
#if MASU_QUICK
    SUM_TURNS {
      ulong part[SUM_PART_WORDS];
      const size_t wanted = begin + turn * teams + team;
#if MASU_RUNNING
#if MASU_LINES > 1
      ulong prefixes[MASU_UNROLL];
#endif
      bool sure = true;
      bool fits = true;
#endif
      {
        SUM_PART_OF_ROW
      }
#if MASU_LINES == 1 && !MASU_RUNNING
      join_parts(part, team_bits, parts);
#endif
#if MASU_RUNNING
#if MASU_LINES > 1
      // All or none, since they may take the place of what is added again.
      MASU_UNROLLED
      for (uint i = 0; i < MASU_UNROLL; ++i) {
        if (sure && wanted < rows) store_result(SUM_PREFIX_AT(wanted, i), SUM_PREFIX_BITS, prefixes[i]);
      }
#endif
      if (!sure && wanted < rows) unsure[1 + atomic_inc(unsure)] = (uint)(wanted - begin);
#elif MASU_BY_COLUMN
      if ((MASU_LINES > 1 || turn + 1 < turns) && wanted < rows) {
        round_row(MASU_LINES > 1 ? MASU_UNROLL : count, SUM_RESULT_ARGUMENTS, begin, wanted, part, depth, unsure);
      }
#endif
      for (int w = 0; w < SUM_PART_WORDS; ++w) {
        own[w] = MASU_BY_COLUMN || turn == 0 || lane == turn ? part[w] : own[w];
      }
    }
#endif
#if MASU_SHARES_COLUMNS
    if (members > 1) {
      __global ulong *kept = (__global ulong *)(totals + parts_at / 4) + (mine < rows ? mine : (size_t)rows - 1);
      if (lane == 0 && mine < rows) {
        for (int w = 0; w < SUM_PART_WORDS; ++w) kept[(share * SUM_PART_WORDS + w) * rows] = own[w];
      }
      __global uint *strip_left = left + left_at / 4 + strip;
      last = is_last_group(strip_left, members, true, unsure + 1);
      barrier(CLK_LOCAL_MEM_FENCE);  // all know before `unsure` is written to
      if (last) {
        if (me == 0) *strip_left = 0;
        ulong part[SUM_PART_WORDS];
        SUM_START_PART
        SUM_END_PART
        for (size_t i = lane; i < members; i += (size_t)SUM_JOINED << team_bits) {
          ulong others[SUM_JOINED][SUM_PART_WORDS];
          MASU_UNROLLED
          for (int k = 0; k < SUM_JOINED; ++k) {
            const size_t member = min(i + ((size_t)k << team_bits), members - 1);
            for (int w = 0; w < SUM_PART_WORDS; ++w)
              others[k][w] = ((__global const volatile ulong *)kept)[(member * SUM_PART_WORDS + w) * rows];
          }
          MASU_UNROLLED
          for (int k = 0; k < SUM_JOINED; ++k) {
            if (i + ((size_t)k << team_bits) < members) add_part(part, others[k]);
          }
        }
        join_parts(part, team_bits, parts);
        for (int w = 0; w < SUM_PART_WORDS; ++w) own[w] = part[w];
      }
    }
#endif
    const bool any = MASU_LINES == 1 && MASU_RUNNING == 0 && last && lane < turns && mine < rows;
    round_rows(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, begin, mine, any, own, depth, table, SUM_FINISH_ARGUMENTS,
               parts, unsure);
  }
}

#if !MASU_BY_COLUMN
// What a row that work-groups share has beside its totals, a word each, `rows` apart: the kinds of what is not finite; the
// shares that are added exactly; those that were taken for that; perhaps the parts that are left; what was decided.
#define SUM_KINDS(row) (totals + flags_at / 4 + (row))
#define SUM_ADDED(row) (SUM_KINDS(row) + rows)
#define SUM_TAKEN(row) (SUM_KINDS(row) + 2 * rows)
#define SUM_DECIDED(row) (SUM_KINDS(row) + 4 * rows)
// The next decision, which differs from any that was there before.
#define SUM_DECISION(before, unsure) (((before) | 1u) + 1u + (unsure))

#if MASU_QUICK
// Leaves the part of a unit.
inline void leave_part(SUM_PARAMETERS, const size_t unit, __global ulong *kept, __local ulong *parts) {
  ulong part[SUM_PART_WORDS];
  SUM_UNIT(unit)
  {
    SUM_START_PART
    SUM_ADD_VECTORS(first, vectors)
    SUM_ADD_EDGES
    SUM_END_PART
  }
  join_parts(part, SUM_GROUP_BITS, parts);
  if (get_local_id(0) == 0) {
    for (int w = 0; w < SUM_PART_WORDS; ++w) kept[unit * SUM_PART_WORDS + w] = part[w];
  }
}

// Puts the parts of a row together, and if `stores`, stores a certain result; the first work-item sets shared_state[1]
// if the result is not certain. `depth`: the most additions that an element has gone through. The parts may have come in
// the same launch.
inline void join_row(SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const size_t row, const bool stores, const ulong depth,
                     __global const volatile ulong *kept, __local ulong *parts, __local uint *shared_state) {
  ulong part[SUM_PART_WORDS];
  {
    SUM_START_PART
    SUM_END_PART
  }
  MASU_ROLLED
  for (size_t i = get_local_id(0); i < shares; i += MASU_GROUP) {
    ulong other[SUM_PART_WORDS];
    for (int w = 0; w < SUM_PART_WORDS; ++w) other[w] = kept[(row * shares + i) * SUM_PART_WORDS + w];
    add_part(part, other);
  }
  join_parts(part, shares <= MASU_SHUFFLE_LANES ? SUM_LANE_BITS : SUM_GROUP_BITS, parts);
  if (get_local_id(0) == 0) {
    ulong found = 0;
    bool fits = true;
    const bool sure = result_of(part, count + MASU_ADDEND, depth, what, divisor, precision, least, bits, &found, &fits);
    if (sure && stores) {
      store_result(results + results_at + row * (bits / 8), bits, found);
      if (!fits) atomic_or((__global uint *)(status + status_at), 1u);
    }
    shared_state[1] = sure ? 0 : 1;
  }
}
#endif

// The next share of a row to be added exactly by this work-group; UINT_MAX if shared_state[1] is 0.
inline uint next_share(__global uint *taken, __local uint *shared_state) {
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) shared_state[2] = shared_state[1] != 0 ? atomic_inc(taken) : UINT_MAX;
  barrier(CLK_LOCAL_MEM_FENCE);
  return shared_state[2];
}
inline void add_shares(SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const size_t row, __local uint *table,
                       SUM_FINISH_PARAMETERS, __local uint *shared_state) {
  __global uint *taken = SUM_TAKEN(row);
  // A loop and no condition, as above.
  for (uint share = next_share(taken, shared_state); share < shares; share = next_share(taken, shared_state)) {
    add_and_finish(x, x_at, y, y_at, count, rows, columns, shares, row * shares + share, table,
                   totals + totals_at / 4 + row * SUM_ROW_WORDS, SUM_KINDS(row), SUM_ADDED(row), what, divisor,
                   precision, least, bits, results, results_at, status, status_at, digits, words, value, kept_totals);
  }
}

// parts_at: where the parts of the work-groups lie, after the totals.
#define SUM_KEPT ((__global ulong *)(totals + parts_at / 4))

// left_at: where the parts of each row that are left are counted.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_shared(
    SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const ulong parts_at, const ulong depth, __global uint *left,
    const ulong left_at, __local uint *table, SUM_FINISH_PARAMETERS, __local ulong *parts, __local uint *shared_state) {
  MASU_LOCAL_POINTER(ulong, parts);  // SUM_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, shared_state);    // 3
  const size_t unit = get_group_id(0);
  const size_t row = SUM_ROW_OF(unit);
  const bool first = get_local_id(0) == 0;
  if (first) shared_state[1] = 1;
#if MASU_QUICK
  __global volatile uint *decision = SUM_DECIDED(row);
  const uint before = *decision;  // comes before the last part
  leave_part(SUM_ARGUMENTS, unit, SUM_KEPT, parts);
  __global uint *row_left = left + left_at / 4 + row;
  const uint last = is_last_group(row_left, shares, true, shared_state) ? 1 : 0;
  // A loop and no condition, as above.
  for (uint l = 0; l < last; ++l) {
    if (first) *row_left = 0;
    join_row(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, row, true, depth, SUM_KEPT, parts, shared_state);
    // A certain result is announced at once; else the totals come first.
    if (first && shared_state[1] == 0) atomic_xchg(decision, SUM_DECISION(before, 0u));
    barrier(CLK_LOCAL_MEM_FENCE);
    clear_row(totals + totals_at / 4 + row * SUM_ROW_WORDS, SUM_KINDS(row), SUM_ADDED(row), SUM_TAKEN(row),
              shared_state[1] != 0);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (first && shared_state[1] != 0) {
      masu_device_fence();
      atomic_xchg(decision, SUM_DECISION(before, 1u));
    }
  }
  if (last == 0 && first) {
    uint decided = before;
    MASU_ROLLED
    for (uint looks = 0; looks < MASU_LOOKS && decided == before; ++looks) decided = *decision;
    shared_state[1] = decided != before && (decided & 1u) != 0 ? 1 : 0;
    if (shared_state[1] != 0) masu_device_fence();  // slow, so only here
  }
#endif
  add_shares(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, row, table, SUM_FINISH_ARGUMENTS, shared_state);
}

#if MASU_QUICK && MASU_CLUSTER > 1
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) MASU_CLUSTERS(MASU_CLUSTER) void sum_clusters(
    SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const ulong parts_at, const ulong depth, __local uint *table,
    SUM_FINISH_PARAMETERS, __local ulong *parts, __local uint *shared_state) {
  MASU_LOCAL_POINTER(ulong, parts);
  MASU_LOCAL_POINTER(uint, shared_state);
  const size_t unit = get_group_id(0);
  const size_t row = SUM_ROW_OF(unit);
  const bool first = unit == row * shares;
  leave_part(SUM_ARGUMENTS, unit, SUM_KEPT, parts);
  clear_row(totals + totals_at / 4 + row * SUM_ROW_WORDS, SUM_KINDS(row), SUM_ADDED(row), SUM_TAKEN(row), first);
  masu_cluster_barrier();
  join_row(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, row, first, depth, SUM_KEPT, parts, shared_state);
  add_shares(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, row, table, SUM_FINISH_ARGUMENTS, shared_state);
}
#endif
#endif

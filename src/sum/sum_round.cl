// SPDX-License-Identifier: Apache-2.0
// What work-items know of rows put together, and the results of rows that one work-group ends. After sum_quick.cl.

#define SUM_JOINS_LANES (MASU_SHUFFLE_LANES > 1 && !MASU_BY_COLUMN)

// The most additions that one of `count` elements of a work-item goes through.
#define SUM_OF_LOADS (MASU_UNROLL * SUM_LOADED)
#define SUM_DEPTH(count)                                        \
  (MASU_FINE || MASU_CLOSE || MASU_ELEMENT_BYTES == 8 ? (count) \
                                                      : (count) / SUM_OF_LOADS + SUM_OF_LOADS + MASU_UNROLL / MASU_REST)

// Adds the words of a team's work-items, `part`, to those of the first one, through local memory.
#define SUM_JOIN_LOCALLY(count, add)                                                                           \
  for (uint distance = 1u << team_bits >> 1; distance != 0; distance >>= 1) {                                  \
    for (int w = 0; w < (count); ++w) parts[w * MASU_GROUP + me] = part[w];                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
    if (SUM_TEAM_LANE(me, team_bits) < distance) {                                                             \
      ulong other[count];                                                                                      \
      for (int w = 0; w < (count); ++w)                                                                        \
        other[w] = parts[w * MASU_GROUP + me + distance * SUM_TEAM_STEP(team_bits)];                           \
      add                                                                                                      \
    }                                                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
  }

// The team's part, from those of its work-items, in the first of them; others must not be asked. A team has 2^team_bits.
// `parts` is free again after the next barrier.
#if MASU_QUICK && MASU_LINES == 1
#if SUM_JOINS_LANES
MASU_INLINE void join_lanes(ulong *part, const uint lanes) {
  for (uint distance = lanes >> 1; distance != 0; distance >>= 1) {
    ulong other[SUM_PART_WORDS];
    for (int w = 0; w < SUM_PART_WORDS; ++w) {
      const uint above = masu_shuffle_xor((uint)(part[w] >> 32), distance);
      other[w] = (ulong)above << 32 | masu_shuffle_xor((uint)part[w], distance);
    }
    add_part(part, other);
  }
}
#endif
MASU_INLINE void join_parts(ulong *part, const uint team_bits, __local ulong *parts) {
  const uint me = (uint)get_local_id(0);
#if SUM_JOINS_LANES
  join_lanes(part, min((uint)MASU_SHUFFLE_LANES, 1u << team_bits));
  // Then those of the team's sub-groups, of which there are no more than a sub-group has lanes.
  const uint subs = (1u << team_bits) / MASU_SHUFFLE_LANES;
  if (subs > 1) {
    if (me % MASU_SHUFFLE_LANES == 0) {
      for (int w = 0; w < SUM_PART_WORDS; ++w) parts[w * MASU_GROUP + me / MASU_SHUFFLE_LANES] = part[w];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint sub = (me >> team_bits << team_bits) / MASU_SHUFFLE_LANES + (me & (subs - 1));
    for (int w = 0; w < SUM_PART_WORDS; ++w) part[w] = parts[w * MASU_GROUP + sub];
    join_lanes(part, subs);
  }
#else
  SUM_JOIN_LOCALLY(SUM_PART_WORDS, add_part(part, other);)
#endif
}
#endif

// Exact totals of a row, and what is counted beside them, are zeros before they are added to. By one work-group, or by none.
inline void clear_row(__global uint *row_totals, __global uint *kinds, __global uint *added, __global uint *taken,
                      const bool clears) {
  MASU_ROLLED
  for (uint i = (uint)get_local_id(0); i < (clears ? SUM_ROW_WORDS : 0); i += MASU_GROUP) row_totals[i] = 0;
  if (clears && get_local_id(0) == 0) {
    *kinds = 0;
    *added = 0;
    *taken = 0;
  }
}

// Arguments of a function that has the kernel's parameters.
#define SUM_ARGUMENTS x, x_at, y, y_at, count, rows, columns, shares, totals, totals_at, flags_at
#define SUM_RESULT_ARGUMENTS what, divisor, precision, least, bits, results, results_at, status, status_at
#define SUM_FINISH_ARGUMENTS digits, words, value, kept_totals

// Variances of floats below f64 that are not certain: a second attempt, with the elements' differences from the first one.
#define SUM_BY_DIFFERENCES (SUM_SMALL_FLOAT && MASU_BOTH && !MASU_FINE)
#if SUM_BY_DIFFERENCES
#define SUM_ADD_AGAIN(bits)                                                   \
  {                                                                           \
    double value = SUM_SMALL_DOUBLE(bits) * SUM_SCALE;                        \
    const double below = fabs(add_exactly(&value, -pivot));                   \
    lost += below;                                                            \
    square_lost += below * (3 * fabs(value) + below);                         \
    if (SUM_MAGNITUDE(bits) >= MASU_INFINITY_BITS) lost = as_double(0x7ff0000000000000UL); \
    add_double(&sum, &error, &lost, value);                                   \
    add_product(&squares, &square_error, &square_lost, value, value);         \
  }
// The teams' rows, one each. With what roundings take away, or without it differences would prove as little as elements do.
// Numbers of those that are not certain count from `begin`. All work-items of the group come here.
inline void add_differences(SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const size_t begin, const size_t mine,
                            const uint team_bits, __local ulong *parts, __local uint *unsure) {
  const uint me = (uint)get_local_id(0);
  const size_t lane = SUM_TEAM_LANE(me, team_bits);
  const size_t row = mine < rows ? mine : (size_t)rows - 1;
  __global const uchar *xs = SUM_ROW_AT(row);
  const double pivot = SUM_SMALL_DOUBLE(element_at(xs, 0)) * SUM_SCALE;
  double sum = 0;
  double error = 0;
  double lost = 0;
  double squares = 0;
  double square_error = 0;
  double square_lost = 0;
  const size_t stride = (size_t)1 << team_bits;
  SUM_READ_AGAIN
  ulong part[] = {as_ulong(sum),     as_ulong(error),        as_ulong(lost),
                  as_ulong(squares), as_ulong(square_error), as_ulong(square_lost)};
  SUM_JOIN_LOCALLY(6, add_sums(part, other); add_sums(part + 3, other + 3);)
  ulong found = 0;
  if (lane == 0 && mine < rows) {
    if (certain_fine_variance(as_double(part[0]), as_double(part[1]), bound_of(as_double(part[2])), as_double(part[3]),
                              as_double(part[4]), bound_of(as_double(part[5])), count, divisor, what == SUM_AS_DEVIATION,
                              precision, least, bits, &found)) {
      store_result(results + results_at + mine * (bits / 8), bits, found);
    } else {
      unsure[1 + atomic_inc(unsure)] = (uint)(mine - begin);
    }
  }
}
#endif

// Stores the result of row `mine`, of which this work-item has the part in `own`, if it is certain. Else it is listed: `unsure` has
// the count of such rows, then their numbers from `begin` on. Elements have gone through at most `depth` additions.
inline void round_row(const ulong count, SUM_RESULT_PARAMETERS, const size_t begin, const size_t mine, const ulong *own,
                      const ulong depth, __local uint *unsure) {
  bool sure = false;
#if MASU_QUICK
  ulong found = 0;
  bool fits = true;
  sure = result_of(own, count + MASU_ADDEND, depth, what, divisor, precision, least, bits, &found, &fits);
  if (sure) store_result(results + results_at + mine * (bits / 8), bits, found);
  if (!fits) atomic_or((__global uint *)(status + status_at), 1u);
#endif
  if (!sure) unsure[1 + atomic_inc(unsure)] = (uint)(mine - begin);
}

// The same for those of a work-group's rows that are not rounded yet, by the work-items whose `any` is true. Then the rows
// that are listed are added again, exactly, with SUM_BY_DIFFERENCES after a try by differences.
inline void round_rows(SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const size_t begin, const size_t mine, const bool any,
                       const ulong *own, const ulong depth, __local uint *table, SUM_FINISH_PARAMETERS, __local ulong *parts, __local uint *unsure) {
  if (any) round_row(count, SUM_RESULT_ARGUMENTS, begin, mine, own, depth, unsure);
  barrier(CLK_LOCAL_MEM_FENCE);
#if SUM_IN_REGISTERS || SUM_BY_DIFFERENCES
  const uint number = unsure[0];
#if SUM_BY_DIFFERENCES
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) unsure[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  // As many work-items share each row as there are for all of them, if they have some loads each: the others wait for these.
  const uint shared = SUM_GROUP_BITS - min(SUM_GROUP_BITS, number <= 1 ? 0u : 32u - (uint)clz(number - 1));
  const uint bits_again = MASU_RUNNING ? 0u : min(shared, 31u - (uint)clz((uint)min(count / SUM_AGAIN, (ulong)MASU_GROUP) | 1u));
  for (uint step = 0; step < number; step += MASU_GROUP >> bits_again) {
    const uint at = step + SUM_TEAM((uint)get_local_id(0), bits_again);
    const size_t again = at < number ? begin + unsure[1 + at] : (size_t)rows;
#if SUM_IN_REGISTERS
    add_in_registers(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, again, bits_again, parts);
#else
    barrier(CLK_LOCAL_MEM_FENCE);  // what is listed anew takes the place of what was read
    add_differences(SUM_ARGUMENTS, SUM_RESULT_ARGUMENTS, begin, again, bits_again, parts, unsure);
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
#endif
#if !SUM_IN_REGISTERS
  // A loop, not a condition: PoCL 3.1 runs the code after a barrier inside of a condition for all work-items.
  for (uint u = 0; u < unsure[0]; ++u) {
    __global uint *own_totals = totals + totals_at / 4 + get_group_id(0) * SUM_ROW_WORDS;
    __global uint *own_kinds = totals + flags_at / 4 + get_group_id(0);
    __global uint *own_added = own_kinds + get_num_groups(0);
    const size_t row = begin + unsure[1 + u];
#if MASU_RUNNING
    // Each by itself, the last one first, since it may take the place of an element.
    for (ulong n = count; n > 0; --n) {
      clear_row(own_totals, own_kinds, own_added, own_added, true);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      add_and_finish(x, (ulong)(SUM_ROW_AT(row) - x), y, y_at, n, 1, columns, 1, 0, table, own_totals, own_kinds, own_added,
                     what, divisor, precision, least, bits, results, (ulong)(SUM_PREFIX_AT(row, n - 1) - results), status,
                     status_at, digits, words, value, kept_totals);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
#else
    clear_row(own_totals, own_kinds, own_added, own_added, true);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    add_and_finish(x, x_at, y, y_at, count, rows, columns, 1, row, table, own_totals, own_kinds, own_added, what, divisor,
                   precision, least, bits, results, results_at, status, status_at, digits, words, value, kept_totals);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#endif
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
}

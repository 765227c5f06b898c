// SPDX-License-Identifier: Apache-2.0
// Sums, dot products, means, norms and variances that need no exact total: added in doubles, or integers, with a bound on
// what the roundings take away; where both ends of what the sum can be round to the same number, that is the result. Behind
// sum_finish.cl and sum_certain.cl.
//
// - sum_rows: rows that one work-group each is enough for, in one launch. A team of work-items adds a row. Those for which
//   the bound proves nothing are added again exactly, by the whole work-group.
// - sum_parts, then sum_joined: rows that several work-groups share. The first leaves a part of each work-group; the second
//   puts the parts together, in each work-group of a row the same, and adds the row exactly if that proves nothing.
// - sum_clusters: both in one launch, where the work-groups of a row may wait for each other.
// No memory need be cleared before, but for sum_joined without MASU_QUICK, which needs nothing before it.
//
// Defines beside those of them, given by sum_plan.cpp:
// - MASU_QUICK       1: rows are tried in this way; 0: all are added exactly
// - MASU_CLUSTER     work-groups of a row that may wait for each other; 1: there are none

// What a work-item knows of its part of a row, as MASU_PART_WORDS words.
#undef MASU_ADD
#if !MASU_QUICK
#define MASU_PART_WORDS 1
#define MASU_ADD(x_bits, y_bits)
#define MASU_START_PART
#define MASU_END_PART
#elif !MASU_FLOAT
// A number of 128 bits in two's complement.
#define MASU_PART_WORDS 2
#if MASU_ELEMENT_BYTES < 8
#define MASU_START_PART ulong low = 0;
#if MASU_ELEMENT_BYTES < 4
#define MASU_ADD(bits, unused) low += (ulong)(long)MASU_INTEGER(bits);
#else
#define MASU_ADD(bits, unused) low += (ulong)MASU_LONG(bits);
#endif
#define MASU_END_PART                                        \
  part[0] = low;                                             \
  part[1] = MASU_SIGNED && as_long(low) < 0 ? ULONG_MAX : 0;
#else
#define MASU_START_PART \
  ulong low = 0;        \
  ulong high = 0;
#define MASU_ADD(bits, unused)                      \
  {                                                 \
    const ulong b = (bits);                         \
    low += b;                                       \
    high += MASU_EXTENSION(b) + (low < b ? 1 : 0);  \
  }
#define MASU_END_PART \
  part[0] = low;      \
  part[1] = high;
#endif
inline void add_part(ulong *part, const ulong *other) {
  part[0] += other[0];
  part[1] += other[1] + (part[0] < other[0] ? 1 : 0);
}
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const ulong sign = MASU_SIGNED && as_long(part[0]) < 0 ? ULONG_MAX : 0;
  if (what == MASU_AS_INTEGER) {
    *found = part[0];
    *fits = part[1] == sign;
    return true;
  }
#if MASU_FP64
  if (what == MASU_AS_QUOTIENT && part[1] == sign) {
    const bool minus = sign != 0;
    const ulong magnitude = minus ? 0 - part[0] : part[0];
    const double upper = (double)(magnitude >> 32) * 0x1p32;
    const double lower = (double)(magnitude & 0xffffffffUL);
    return certain(minus ? -upper : upper, minus ? -lower : lower, 0, what, divisor, precision, least, bits, found);
  }
#endif
  return false;
}
#elif MASU_ELEMENT_BYTES == 8
// A sum of doubles, that of its roundings, and that of the magnitudes of theirs.
#define MASU_PART_WORDS 3
#define MASU_START_PART \
  double sum = 0;       \
  double error = 0;     \
  double lost = 0;
#define MASU_ADD(bits, unused)                                   \
  {                                                              \
    const double rounding = add_exactly(&sum, as_double(bits));  \
    lost += fabs(add_exactly(&error, rounding));                 \
  }
#define MASU_END_PART         \
  part[0] = as_ulong(sum);    \
  part[1] = as_ulong(error);  \
  part[2] = as_ulong(lost);
inline void add_part(ulong *part, const ulong *other) {
  double sum = as_double(part[0]);
  double error = as_double(part[1]);
  double lost = as_double(part[2]) + as_double(other[2]);
  const double e = add_exactly(&sum, as_double(other[0]));
  lost += fabs(add_exactly(&error, e));
  lost += fabs(add_exactly(&error, as_double(other[1])));
  MASU_END_PART
}
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const double lost = as_double(part[2]);
  // Twice, as that sum is rounded too.
  return certain(as_double(part[0]), as_double(part[1]), lost == 0 ? 0 : 2 * lost + as_double((ulong)1), what, divisor,
                 precision, least, bits, found);
}
#else
// A sum of doubles, which all elements and products are; that of their magnitudes; the greatest magnitude's bits; and the
// least place that a bit of one can have, from which it follows whether all additions were exact.
#define MASU_PART_WORDS 3
#define MASU_START_PART  \
  double sum = 0;        \
  double size = 0;       \
  uint worst = 0;        \
  uint lowest = UINT_MAX;
#define MASU_END_PART                          \
  part[0] = as_ulong(sum);                     \
  part[1] = as_ulong(size);                    \
  part[2] = (ulong)worst << 32 | (ulong)lowest;
// The element times 2^(the bias of its exponents - that of doubles): subnormal ones too, for which there are doubles
// everywhere.
#if MASU_ELEMENT_BYTES == 4
#define MASU_SMALL_DOUBLE(bits) \
  as_double((ulong)((uint)(as_int(bits) >> 3) & 0x8fffffffu) << 32 | (ulong)((bits) << 29))
#else
#define MASU_SMALL_DOUBLE(bits) as_double((ulong)((uint)(as_int((bits) << 16) >> 6) & 0x81ffffffu) << 32)
#endif
#if MASU_ELEMENT_BYTES == 4
#define MASU_SCALE 0x1p896
#else
#define MASU_SCALE 0x1p1008
#endif
#if MASU_BOTH
// The sum of the squares bounds that of the magnitudes. In place of the places: bits that some element has, and those that
// all have. With MASU_FINE, for results of 64 bits, the sums of what additions round away too.
#undef MASU_PART_WORDS
#undef MASU_START_PART
#undef MASU_END_PART
#define MASU_PART_WORDS (MASU_FINE ? 5 : 3)
#define MASU_START_PART   \
  double sum = 0;         \
  double squares = 0;     \
  MASU_START_FINE         \
  uint some = 0;          \
  uint all = UINT_MAX;
#define MASU_END_PART                       \
  part[0] = as_ulong(sum);                  \
  part[1] = as_ulong(squares);              \
  part[2] = (ulong)some << 32 | (ulong)all; \
  MASU_END_FINE
#if MASU_FINE
#define MASU_START_FINE \
  double error = 0;     \
  double square_error = 0;
#define MASU_END_FINE        \
  part[3] = as_ulong(error); \
  part[4] = as_ulong(square_error);
#define MASU_ADD_TO(sum, error, value) error += add_exactly(&sum, value);
#define MASU_ADD_SQUARE(value) MASU_ADD_TO(squares, square_error, (value) * (value))  // products are exact
#else
#define MASU_START_FINE
#define MASU_END_FINE
#define MASU_ADD_TO(sum, error, value) sum += value;
#define MASU_ADD_SQUARE(value) squares = fma(value, value, squares);
#endif
// Infinities and NaNs: as numbers, those of f32 have squares that no sum of use reaches; those of f16 set the highest bit.
#if MASU_ELEMENT_BYTES == 4
#define MASU_MARKED(bits) (bits)
#define MASU_NO_NUMBERS(some, squares) ((squares) >= 0x1p256)
#else
#define MASU_MARKED(bits) ((bits) | (MASU_MAGNITUDE(bits) + (0x8000u - MASU_INFINITY_BITS)) << 16)
#define MASU_NO_NUMBERS(some, squares) ((some) >> 31 != 0)
#endif
#define MASU_ADD(bits, unused)                            \
  {                                                       \
    const MASU_BITS b = (bits);                           \
    some |= MASU_MARKED(b);                               \
    all &= b;                                             \
    const double value = MASU_SMALL_DOUBLE(b) * MASU_SCALE; \
    MASU_ADD_TO(sum, error, value)                        \
    MASU_ADD_SQUARE(value)                                \
  }
#if MASU_FINE && MASU_ELEMENT_BYTES == 4
// Four elements. Mostly their sum is exact, and what a sum of squares that is above each of their own loses takes two operations
// to find: in all half of those that four additions with their errors take.
MASU_INLINE void add_four(const uint *words, double *all_sum, double *all_error, double *all_squares,
                          double *all_square_error) {
  double sum = *all_sum;
  double error = *all_error;
  double squares = *all_squares;
  double square_error = *all_square_error;
  uint greatest = 0;
  uint least = UINT_MAX;
  double values[4];
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < 4; ++e) {
    const uint magnitude = MASU_MAGNITUDE(words[e]);
    greatest = max(greatest, magnitude);
    least = min(least, magnitude - 1);  // of zeros the greatest number
    values[e] = MASU_SMALL_DOUBLE(words[e]) * MASU_SCALE;
  }
  // All are multiples of the unit of the least one, with 24 bits and at most 27 more; four of them have 53.
  const int exponent = (int)(greatest >> 23);
  const bool exact = exponent - (int)(least >> 23) <= 27;
  // Each square is less than 2^(2 (exponent - 126)), and so not above `squares`.
  const bool above = (int)(as_ulong(squares) >> 52) >= 2 * exponent + (1023 - 2 * 126);
  if (exact && above) {
    MASU_ADD_TO(sum, error, (values[0] + values[1]) + (values[2] + values[3]))
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < 4; ++e) {
      const double before = squares;
      squares = fma(values[e], values[e], before);
      square_error += fma(values[e], values[e], before - squares);
    }
  } else {
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < 4; ++e) {
      MASU_ADD_TO(sum, error, values[e])
      MASU_ADD_SQUARE(values[e])
    }
  }
  *all_sum = sum;
  *all_error = error;
  *all_squares = squares;
  *all_square_error = square_error;
}
#undef MASU_ADD_VECTOR
#define MASU_ADD_VECTOR(k)                                                  \
  some |= all_x[k][0] | all_x[k][1] | all_x[k][2] | all_x[k][3];            \
  all &= all_x[k][0] & all_x[k][1] & all_x[k][2] & all_x[k][3];             \
  add_four(all_x[k], &sum, &error, &squares, &square_error);
#endif
#elif MASU_INPUTS == 1
#define MASU_ADD(bits, unused)                                                \
  {                                                                           \
    const MASU_BITS b = (bits);                                               \
    const MASU_BITS magnitude = MASU_MAGNITUDE(b);                            \
    worst = max(worst, magnitude);                                            \
    lowest = min(lowest, magnitude - 1);                                      \
    const double value = MASU_SMALL_DOUBLE(b);                     \
    sum += value;                                                             \
    size += fabs(value);                                                      \
  }
#define MASU_OF_SCALE(x) ((x) * MASU_SCALE)
// The field of the double that is 2^52 times the unit of the lowest element.
#define MASU_EXACT_FIELD(lowest) (MASU_PLACE((lowest) + 1) + (53 - MASU_FRACTION))
#else
#define MASU_ADD(x_bits, y_bits)                                                               \
  {                                                                                            \
    const MASU_BITS a = (x_bits);                                                              \
    const MASU_BITS b = (y_bits);                                                              \
    const MASU_BITS a_magnitude = MASU_MAGNITUDE(a);                                           \
    const MASU_BITS b_magnitude = MASU_MAGNITUDE(b);                                           \
    worst = max(worst, max(a_magnitude, b_magnitude));                                         \
    const uint places = MASU_PLACE(a_magnitude) + MASU_PLACE(b_magnitude);                     \
    lowest = min(lowest, a_magnitude == 0 || b_magnitude == 0 ? UINT_MAX : places);            \
    const double value = (MASU_SMALL_DOUBLE(a) * MASU_SCALE) *                    \
                         (MASU_SMALL_DOUBLE(b) * MASU_SCALE);                     \
    sum += value;                                                                              \
    size += fabs(value);                                                                       \
  }
#define MASU_OF_SCALE(x) (x)
#if MASU_ELEMENT_BYTES == 4
#define MASU_EXACT_FIELD(lowest) ((lowest) + (1023 + 52 - 2 * 149))
#else
#define MASU_EXACT_FIELD(lowest) ((lowest) + (1023 + 52 - 2 * 24))
#endif
#endif
#if MASU_BOTH
inline void add_part(ulong *part, const ulong *other) {
  double sum = as_double(part[0]);
  double squares = as_double(part[1]);
  const uint some = (uint)(part[2] >> 32) | (uint)(other[2] >> 32);
  const uint all = (uint)part[2] & (uint)other[2];
#if MASU_FINE
  double error = as_double(part[3]) + as_double(other[3]);
  double square_error = as_double(part[4]) + as_double(other[4]);
#endif
  MASU_ADD_TO(sum, error, as_double(other[0]))
  MASU_ADD_TO(squares, square_error, as_double(other[1]))
  MASU_END_PART
}
#else
inline void add_part(ulong *part, const ulong *other) {
  part[0] = as_ulong(as_double(part[0]) + as_double(other[0]));
  part[1] = as_ulong(as_double(part[1]) + as_double(other[1]));
  const ulong worst = max(part[2] >> 32, other[2] >> 32);
  part[2] = worst << 32 | min(part[2] & 0xffffffffUL, other[2] & 0xffffffffUL);
}
#endif
// Of `count` elements. `depth`: the most additions that an element has gone through.
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
#if MASU_BOTH
  const double squares = as_double(part[1]);
  const uint some = (uint)(part[2] >> 32);
  if (MASU_NO_NUMBERS(some, squares)) return false;
  *found = 0;
  if ((some & MASU_ALL_BITS) == (uint)part[2]) return true;  // all elements are alike
  // Not less than the sum of the magnitudes (Cauchy and Schwarz).
  const double size = sqrt((double)count * squares) * (1 + 0x1p-20);
  // `divisor` is ddof; a row has `count` elements.
#if MASU_FINE
  // A sum of roundings has at most `depth` of 2^-53 of all magnitudes, and as many roundings of its own.
  const double tiny = (double)depth * (double)depth * 0x1p-103;
  return certain_fine_variance(as_double(part[0]), as_double(part[3]), tiny * size, squares, as_double(part[4]),
                               tiny * squares, count, divisor, what == MASU_AS_DEVIATION, found);
#else
  const double share = (double)depth * 0x1p-51;
  return certain_variance(as_double(part[0]), share * size, squares, share * squares, count, divisor,
                          what == MASU_AS_DEVIATION, precision, least, bits, found);
#endif
#else
  const double size = as_double(part[1]);
  if ((uint)(part[2] >> 32) >= MASU_INFINITY_BITS) return false;
  const uint lowest = (uint)part[2];
  // All partial sums are multiples of the lowest bit, and less than 2^53 of them.
  const bool exact = lowest == UINT_MAX || size <= as_double((ulong)MASU_EXACT_FIELD(lowest) << 52);
  // Each addition rounds by less than 2^-53 of the sum of all magnitudes, which is rounded as often itself.
  const double bound = exact ? 0 : (double)depth * 0x1p-51 * size;
  return certain(MASU_OF_SCALE(as_double(part[0])), 0, MASU_OF_SCALE(bound), what, divisor, precision, least, bits,
                 found);
#endif
}
#endif

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

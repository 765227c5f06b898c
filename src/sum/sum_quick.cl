// SPDX-License-Identifier: Apache-2.0
// Sums, dot products, means, norms and variances that need no exact total: added in doubles, or integers, with a bound on
// what the roundings take away; where both ends of what the sum can be round to the same number, that is the result. Behind
// sum_finish.cl and sum_floats.cl or sum_integers.cl.
//
// - sum_rows: rows that one work-group each is enough for, in one launch that needs no memory cleared before. A team of
//   work-items adds a row. Those for which the bound proves nothing are added again exactly, by the whole work-group.
// - sum_parts: rows that several work-groups share, and variances. The last one of a row puts its parts together, and
//   counts the rows for which the bound proves nothing: if there are any, the launches behind it add all exactly.
//
// Defines beside those of them, given by sum_plan.cpp:
// - MASU_QUICK       1: rows are tried in this way; 0: all are added exactly
// - MASU_FP64        1: the device has double
// - MASU_BOTH        1: values are added beside their squares, for variances

#if MASU_FP64 && defined(MASU_OPENCL) && defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#if MASU_FP64
// Adds, and returns what the rounding took away, which is exact.
inline double add_exactly(double *sum, const double x) {
  const double before = *sum;
  *sum += x;
  const double part = *sum - before;
  return (before - (*sum - part)) + (x - part);
}

// A finite double's bits in a format of at most 53 bits, rounded to nearest, ties to even; +0 for what rounds to zero.
inline ulong rounded_double(const double x, const uint precision, const int least, const uint bits) {
  const ulong all = as_ulong(x);
  if (bits == 64) return all << 1 == 0 ? 0 : all;
  const uint field = (uint)(all >> 52) & 2047u;
  const ulong whole = (all & 0xfffffffffffffUL) | (ulong)(field != 0 ? 1 : 0) << 52;
  if (whole == 0) return 0;
  const int exponent = (int)max(field, 1u) - 1075;
  const int top = 63 - (int)clz(whole);
  const int low = max(top - (int)precision + 1, least - exponent);  // above 0: doubles have more bits, and smaller ones
  if (low > top + 1) return 0;
  ulong mantissa = whole >> low;
  const ulong rest = whole - (mantissa << low);
  const ulong half_unit = (ulong)1 << (low - 1);
  if (rest > half_unit || (rest == half_unit && (mantissa & 1) != 0)) ++mantissa;
  const ulong infinity = ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
  const ulong found = min(format_bits(mantissa, low + exponent, precision, least), infinity);
  return found == 0 ? 0 : found | (all >> 63) << (bits - 1);
}

// The double next to a finite one that is not 0: upwards, or downwards.
inline double neighbour(const double x, const bool up) {
  const ulong bits = as_ulong(x);
  return as_double((bits >> 63 == 0) == up ? bits + 1 : bits - 1);
}

// sum + error + d, |d| <= bound, divided by `count` and rounded to a double; whether it is certain.
inline bool certain_quotient(const double sum, const double error, const double bound, const double count,
                             ulong *found) {
  const double least = as_double(0x07b0000000000000UL);     // 2^-900
  const double greatest = as_double(0x7e70000000000000UL);  // 2^1000
  double q = (sum + error) / count;  // rounded several times, so it may be a neighbour that is right
  for (int attempt = 0; attempt < 2; ++attempt) {
    const double size = fabs(q);
    if (!(size >= least && size <= greatest)) return false;
    // What the quotient leaves of the dividend.
    const double exact = fma(-q, count, sum);
    const double rest = exact + error;
    const double lost = (fabs(exact) + fabs(error)) * 0x1p-51;
    const double half_gap = (size - neighbour(size, false)) / 2;
    if (fabs(rest) + bound + lost < half_gap * count * (1 - 0x1p-50)) {
      *found = as_ulong(q);
      return true;
    }
    q = neighbour(q, rest > 0);
  }
  return false;
}

// The number sum + error + d, |d| <= bound: what `what`, as sum_finish.cl has it, makes of it; whether it is certain.
inline bool certain(double sum, const double error, const double bound, const uint what, const ulong divisor,
                    const uint precision, const int least, const uint bits, ulong *found) {
  const double greatest = as_double(0x7e70000000000000UL);  // 2^1000
  if (!(fabs(sum) <= greatest && fabs(error) <= greatest && bound <= greatest)) return false;
  const double rest = add_exactly(&sum, error);
  const bool exact = bound == 0 && rest == 0;
  *found = 0;
  if (exact && sum == 0) return true;
  const double count = (double)divisor;
  if (bits == 64) {
    if (what == MASU_AS_ROOT) return false;
    if (divisor > 1) return certain_quotient(sum, rest, bound, count, found);
    // Wider by what the two additions below round.
    const double wide = bound == 0 ? 0 : bound + (fabs(rest) + bound) * 0x1p-50;
    *found = as_ulong(sum);
    return bound == 0 || (sum + (rest + wide) == sum && sum + (rest - wide) == sum);
  }
  const bool plain = divisor <= 1 && what != MASU_AS_ROOT;
  if (exact && plain) {
    *found = rounded_double(sum, precision, least, bits);
    return true;
  }
  const double wide = (bound + fabs(rest)) * (1 + 0x1p-50) + fabs(sum) * 0x1p-51 + as_double((ulong)16);
  double low = sum - wide;
  double high = sum + wide;
  if (!plain) {
    if (what == MASU_AS_ROOT) {
      if (!(low > 0)) return false;
      low = sqrt(low);
      high = sqrt(high);
    } else {
      low /= count;
      high /= count;
    }
    low -= fabs(low) * 0x1p-50;
    high += fabs(high) * 0x1p-50;
  }
  *found = rounded_double(low, precision, least, bits);
  // A sum so close to zero that it rounds to one is not known.
  return *found != 0 && *found == rounded_double(high, precision, least, bits);
}

// The number square_sum + d, |d| <= square_bound, times n, less the square of sum + e, |e| <= bound; divided by n (n -
// ddof); whether its rounding, or that of its root, is certain.
inline bool certain_variance(const double sum, const double bound, const double square_sum, const double square_bound,
                             const ulong n, const ulong ddof, const bool root, const uint precision, const int least,
                             const uint bits, ulong *found) {
  const double count = (double)n;
  const double upper = count * square_sum;
  const double lower = sum * sum;
  const double wide = (count * square_bound + 2 * fabs(sum) * bound + bound * bound) * (1 + 0x1p-50) +
                      (upper + lower) * 0x1p-51;  // the three roundings of what is subtracted
  const double divisor = count * (double)(n - ddof);
  double low = ((upper - lower) - wide) / divisor;
  double high = ((upper - lower) + wide) / divisor;
  *found = 0;
  if (!(low >= as_double(0x0070000000000000UL) && high <= as_double(0x7e70000000000000UL))) return false;
  if (root) {
    low = sqrt(low);
    high = sqrt(high);
  }
  *found = rounded_double(low - low * 0x1p-49, precision, least, bits);
  return *found != 0 && *found == rounded_double(high + high * 0x1p-49, precision, least, bits);
}
#endif

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
#define MASU_SMALL_DOUBLE(bits, magnitude) \
  as_double((ulong)(magnitude) << (52 - MASU_FRACTION) | (ulong)((bits) >> MASU_SIGN_BIT) << 63)
#if MASU_ELEMENT_BYTES == 4
#define MASU_SCALE 0x1p896
#else
#define MASU_SCALE 0x1p1008
#endif
#if MASU_BOTH
#undef MASU_PART_WORDS
#undef MASU_START_PART
#undef MASU_END_PART
#define MASU_PART_WORDS 4
#define MASU_START_PART  \
  double sum = 0;        \
  double size = 0;       \
  double squares = 0;    \
  uint worst = 0;        \
  uint lowest = UINT_MAX;
#define MASU_END_PART                           \
  part[0] = as_ulong(sum);                      \
  part[1] = as_ulong(size);                     \
  part[2] = (ulong)worst << 32 | (ulong)lowest; \
  part[3] = as_ulong(squares);
#define MASU_ADD(bits, unused)                                                   \
  {                                                                              \
    const MASU_BITS b = (bits);                                                  \
    const MASU_BITS magnitude = MASU_MAGNITUDE(b);                               \
    worst = max(worst, magnitude);                                               \
    const double value = MASU_SMALL_DOUBLE(b, magnitude) * MASU_SCALE;           \
    sum += value;                                                                \
    size += fabs(value);                                                         \
    squares += value * value;                                                    \
  }
#elif MASU_INPUTS == 1
#define MASU_ADD(bits, unused)                                                \
  {                                                                           \
    const MASU_BITS b = (bits);                                               \
    const MASU_BITS magnitude = MASU_MAGNITUDE(b);                            \
    worst = max(worst, magnitude);                                            \
    lowest = min(lowest, magnitude - 1);                                      \
    const double value = MASU_SMALL_DOUBLE(b, magnitude);                     \
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
    const double value = (MASU_SMALL_DOUBLE(a, a_magnitude) * MASU_SCALE) *                    \
                         (MASU_SMALL_DOUBLE(b, b_magnitude) * MASU_SCALE);                     \
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
inline void add_part(ulong *part, const ulong *other) {
  part[0] = as_ulong(as_double(part[0]) + as_double(other[0]));
  part[1] = as_ulong(as_double(part[1]) + as_double(other[1]));
  const ulong worst = max(part[2] >> 32, other[2] >> 32);
  part[2] = worst << 32 | min(part[2] & 0xffffffffUL, other[2] & 0xffffffffUL);
#if MASU_BOTH
  part[3] = as_ulong(as_double(part[3]) + as_double(other[3]));
#endif
}
// Of `count` elements. `depth`: the most additions that an element has gone through.
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  if ((uint)(part[2] >> 32) >= MASU_INFINITY_BITS) return false;
  const double size = as_double(part[1]);
#if MASU_BOTH
  // `divisor` is ddof; a row has `count` elements.
  const double share = (double)depth * 0x1p-51;
  return certain_variance(as_double(part[0]), share * size, as_double(part[3]), share * as_double(part[3]), count, divisor,
                          what == MASU_AS_DEVIATION, precision, least, bits, found);
#else
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

// The team's part, from those of its work-items, in the first of them; others must not be asked. Teams are
// neighbours, 2^team_bits of them.
#if MASU_QUICK
MASU_INLINE void join_parts(ulong *part, const uint team_bits, __local ulong *parts) {
  const uint me = (uint)get_local_id(0);
  const uint lane = me & ((1u << team_bits) - 1u);
  ulong other[MASU_PART_WORDS];
  for (uint distance = 1u << team_bits >> 1; distance >= MASU_SHUFFLE_LANES; distance >>= 1) {
    for (int w = 0; w < MASU_PART_WORDS; ++w) parts[w * MASU_GROUP + me] = part[w];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      for (int w = 0; w < MASU_PART_WORDS; ++w) other[w] = parts[w * MASU_GROUP + me + distance];
      add_part(part, other);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#if MASU_SHUFFLE_LANES > 1
  for (uint distance = min((uint)MASU_SHUFFLE_LANES, 1u << team_bits) >> 1; distance != 0; distance >>= 1) {
    for (int w = 0; w < MASU_PART_WORDS; ++w) {
      const uint above = masu_shuffle_xor((uint)(part[w] >> 32), distance);
      other[w] = (ulong)above << 32 | masu_shuffle_xor((uint)part[w], distance);
    }
    add_part(part, other);
  }
#endif
}
#endif

#if !MASU_BOTH
// Behind what sum_add is given: 2^team_bits work-items share a row; the parts of all of them; and a counter with the rows
// of a round for which nothing was certain.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_rows(
    MASU_PARAMETERS, __local uint *table MASU_FINISH_PARAMETERS, const uint team_bits, __local ulong *parts,
    __local uint *unsure) {
  MASU_LOCAL_POINTER(uint, table);
  MASU_FINISH_POINTERS
  MASU_LOCAL_POINTER(ulong, parts);  // MASU_PART_WORDS * MASU_GROUP with MASU_QUICK
  MASU_LOCAL_POINTER(uint, unsure);  // 1 + the teams of a work-group
  const uint me = (uint)get_local_id(0);
  const uint team = me >> team_bits;
  const uint teams = MASU_GROUP >> team_bits;
  __global uint *own_totals = totals + totals_at / 4 + get_group_id(0) * (2 * MASU_TABLE_ROWS);
  __global uint *own_kinds = totals + flags_at / 4 + get_group_id(0);
  clear(table);
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
      depth = count / stride + 2 * MASU_PER_VECTOR + 2 + team_bits;
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
      for (uint i = me; i < 2 * MASU_TABLE_ROWS; i += MASU_GROUP) own_totals[i] = 0;
      if (me == 0) *own_kinds = 0;
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      const size_t row = begin + unsure[1 + u];
      add_unit(x, x_at, y, y_at, count, rows, 1, row, table, own_totals, own_kinds);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      finish_row(true, own_totals, own_kinds, what, divisor, precision, least, bits,
                 results + results_at + row * (bits / 8), (__global uint *)(status + status_at), digits, words,
                 kept_totals);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

#if MASU_QUICK && MASU_FLOAT && MASU_ELEMENT_BYTES < 8
// Behind what sum_add is given: how a result is made, the word that counts rows for which nothing is certain, and where the
// parts of the work-groups go, two words of 32 bits for each of a part; they and the counters of flags_at are reached by
// atomics, for other work-groups read them in this launch.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_parts(
    MASU_PARAMETERS, const uint what, const ulong divisor, const uint precision, const int least, const uint bits,
    __global uchar *results, const ulong results_at, const ulong parts_at, __local ulong *parts, __local uint *told) {
  MASU_LOCAL_POINTER(ulong, parts);  // MASU_PART_WORDS * MASU_GROUP
  MASU_LOCAL_POINTER(uint, told);    // 1
  const uint me = (uint)get_local_id(0);
  uint group_bits = 0;
  while ((1u << group_bits) < MASU_GROUP) ++group_bits;
  const size_t units = (size_t)rows * shares;
  for (size_t unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
    ulong part[MASU_PART_WORDS];
    MASU_UNIT(unit)
    {
      MASU_START_PART
      MASU_ADD_VECTORS(first, vectors)
      MASU_ADD_EDGES
      MASU_END_PART
    }
    join_parts(part, group_bits, parts);
    __global uint *of_row = totals + parts_at / 4 + row * shares * (2 * MASU_PART_WORDS);
    if (me == 0) {
      __global uint *own = of_row + (unit - row * shares) * (2 * MASU_PART_WORDS);
      for (int w = 0; w < MASU_PART_WORDS; ++w) {
        atomic_xchg(own + 2 * w, (uint)part[w]);
        atomic_xchg(own + 2 * w + 1, (uint)(part[w] >> 32));
      }
    }
    const bool last = is_last(totals + flags_at / 4 + 2 * rows + row, shares, told);
    // A loop that ends at once: no barrier stands inside of a condition.
    const uint there = last ? (uint)shares : 0;
    {
      MASU_START_PART
      MASU_END_PART
    }
    for (uint i = me; i < there; i += MASU_GROUP) {
      ulong other[MASU_PART_WORDS];
      __global uint *from = of_row + i * (2 * MASU_PART_WORDS);
      for (int w = 0; w < MASU_PART_WORDS; ++w) {
        other[w] = (ulong)atomic_or(from + 2 * w + 1, 0u) << 32 | atomic_or(from + 2 * w, 0u);
      }
      add_part(part, other);
    }
    join_parts(part, group_bits, parts);
    if (last && me == 0) {
      ulong found = 0;
      bool fits = true;
      const ulong depth = count / stride + 2 * MASU_PER_VECTOR + 2 * group_bits + shares / MASU_GROUP + 4;
      if (result_of(part, count, depth, what, divisor, precision, least, bits, &found, &fits)) {
        store_result(results + results_at + row * (bits / 8), bits, found);
      } else {
        atomic_inc(totals + unsure_at / 4);
      }
    }
  }
}
#endif

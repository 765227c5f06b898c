// SPDX-License-Identifier: Apache-2.0
// Sums, dot products, means, norms and variances that need no exact total: added in doubles, or integers, with a bound on
// what the roundings take away; where both ends of what the sum can be round to the same number, that is the result. After
// sum_finish.cl and sum_certain.cl; sum_rows.cl has the kernels.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#define SUM_SMALL_FLOAT (MASU_QUICK && MASU_FLOAT && MASU_ELEMENT_BYTES < 8)
// Whether sums of few elements are made of values as they are, not scaled, with what is not finite.
#define SUM_SHORT (SUM_SMALL_FLOAT && MASU_SHORT && !MASU_FINE && MASU_INPUTS == 1)
// Whether variances of few elements are.
#define SUM_BY_PIVOT (SUM_SMALL_FLOAT && MASU_LINES > 1 && !MASU_FINE && MASU_BOTH)

#if MASU_QUICK && MASU_FLOAT
#define SUM_GREATEST as_double(0x7e70000000000000UL)  // 2^1000
// Its value, of whatever is not finite too. Conversions of CUDA know subnormal numbers, those of others may not.
#if MASU_ELEMENT_BYTES == 8
#define SUM_VALUE(bits) as_double(bits)
#elif defined(MASU_CUDA) && MASU_EXPONENT_BITS == 8
#define SUM_VALUE(bits) ((double)as_float((uint)(bits) << (32 - 8 * MASU_ELEMENT_BYTES)))
#elif defined(MASU_CUDA) && MASU_EXPONENT_BITS == 5
#define SUM_VALUE(bits) ((double)masu_half_value((uint)(bits)))
#else
inline double value_of(const MASU_BITS bits) {
  const MASU_BITS magnitude = SUM_MAGNITUDE(bits);
  const ulong special = (ulong)(bits >> SUM_SIGN_BIT) << 63 | (ulong)0x7ff << 52 | (magnitude > MASU_INFINITY_BITS ? 1 : 0);
  return magnitude >= MASU_INFINITY_BITS ? as_double(special) : SUM_SMALL_DOUBLE(bits) * SUM_SCALE;
}
#define SUM_VALUE(bits) value_of(bits)
#endif
#define SUM_LEAST_EXPONENT ((1 << (MASU_EXPONENT_BITS - 1)) - 2 + MASU_FRACTION)
// Whether all elements are multiples of the least one, so few bits that a vector's sum fits a double's fraction.
#define SUM_FEW_PLACES (MASU_STORED && (1 << MASU_EXPONENT_BITS) + MASU_FRACTION < 50)
// Magnitudes are noted without the sign's bit, at the top of a word, the lowest less 1, so that it is that of none of the
// zeros; the place of such a one.
#define SUM_SIGN_SHIFT (33 - 8 * MASU_ELEMENT_BYTES)
#define SUM_LOWEST_OF(bits) (((uint)(bits) << SUM_SIGN_SHIFT) - 1)
// The field of the double that is 2^52 times the unit of the lowest element.
#define SUM_UNIT_FIELD(lowest) (SUM_LOWEST_PLACE(lowest) + (1077 - (1 << (MASU_EXPONENT_BITS - 1)) - MASU_FRACTION))
// What magnitudes may come to without a rounding of their sum; those of few places are never so many.
#define SUM_EXACT_UP_TO(lowest) \
  as_double(SUM_FEW_PLACES ? 0x7fefffffffffffffUL : (ulong)SUM_UNIT_FIELD(lowest) << 52)
#define SUM_LOWEST_PLACE(lowest) SUM_PLACE(((lowest) >> SUM_SIGN_SHIFT) + 1)
// Adds the words of three sums, as add_double() has them.
MASU_INLINE void add_sums(ulong *part, const ulong *other) {
  double sum = as_double(part[0]);
  double error = as_double(part[1]);
  double lost = as_double(part[2]) + as_double(other[2]);
  add_double(&sum, &error, &lost, as_double(other[0]));
  lost += fabs(add_exactly(&error, as_double(other[1])));
  part[0] = as_ulong(sum);
  part[1] = as_ulong(error);
  part[2] = as_ulong(lost);
}
// What sums of roundings lack, twice, as that is rounded too.
MASU_INLINE double bound_of(const double lost) {
  return lost == 0 ? 0 : 2 * lost + as_double((ulong)1);
}
// What of all magnitudes a sum of roundings may lack: it has at most `depth` of 2^-53 of them, and twice as many roundings
// of its own.
MASU_INLINE double tiny_share(const ulong depth) { return (double)depth * (double)depth * 0x1p-103; }
// Adds a product, which is a double and its rounding; of one that is too great nothing is known, and of a small one the rounding may
// be off by half of the least number that there is.
MASU_INLINE void add_product(double *sum, double *error, double *lost, const double x, const double y) {
  const double product = x * y;
  const double size = fabs(product);
  if (!(size <= as_double(0x7e70000000000000UL))) *lost = as_double(0x7ff0000000000000UL);  // 2^1000
  if (size < as_double(0x07b0000000000000UL) && x != 0 && y != 0) *lost += as_double((ulong)1);  // 2^-900
  add_double(sum, error, lost, product);
  *lost += fabs(add_exactly(error, fma(x, y, -product)));
}
#endif

// What a work-item knows of its part of a row, as SUM_PART_WORDS words.
#if !SUM_IN_FEW_WORDS
#undef SUM_ADD
#endif
#if SUM_IN_FEW_WORDS  // sum_narrow.cl has it
#elif !MASU_QUICK
#define SUM_PART_WORDS 1
#define SUM_ADD(x_bits, y_bits)
#define SUM_START_PART
#define SUM_END_PART
#elif !MASU_FLOAT
// A number of 128 bits in two's complement.
#define SUM_PART_WORDS 2
#define SUM_START_PART ulong total[2] = {0, 0};
#define SUM_ADD(bits, unused) SUM_ADD_NUMBER(total, bits)
#define SUM_END_PART                    \
  extend(total, SUM_TOTAL_WORDS, 2);    \
  part[0] = total[0];                   \
  part[1] = total[1];
inline void add_part(ulong *part, const ulong *other) {
  part[0] += other[0];
  part[1] += other[1] + (part[0] < other[0] ? 1 : 0);
}
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const ulong sign = MASU_SIGNED && as_long(part[0]) < 0 ? ULONG_MAX : 0;
  if (what == SUM_AS_INTEGER) {
    *found = part[0];
    *fits = part[1] == sign;
    return true;
  }
#if MASU_FP64
  if (what == SUM_AS_QUOTIENT) {
    const bool minus = MASU_SIGNED && as_long(part[1]) < 0;
    const ulong low = minus ? 0 - part[0] : part[0];
    const ulong high = minus ? ~part[1] + (low == 0 ? 1 : 0) : part[1];  // less than 2^48, as rows have fewer elements
    const double scale = minus ? -1 : 1;
    double sum = scale * 0x1p64 * (double)high;
    double error = add_exactly(&sum, scale * 0x1p32 * (double)(low >> 32));
    const double lost = add_exactly(&error, scale * (double)(low & 0xffffffffUL));
    return certain(sum, error, fabs(lost), what, divisor, precision, least, bits, found);
  }
#endif
  return false;
}
#elif !MASU_BOTH && (MASU_ELEMENT_BYTES == 8 || (MASU_FINE && MASU_INPUTS != 1) || (MASU_RUNNING && MASU_LINES == 1))
// A sum of doubles, that of its roundings, and that of the magnitudes of theirs.
// Short rows and prefixes also have the kinds of what is not finite, whose sum is known.
#define SUM_NOTES_KINDS ((MASU_LINES > 1 || MASU_RUNNING) && MASU_INPUTS == 1)
#define SUM_PART_WORDS (3 + SUM_NOTES_KINDS)
#define SUM_START_PART  \
  double sum = 0;       \
  double error = 0;     \
  double lost = 0;      \
  SUM_START_KINDS
#if SUM_NOTES_KINDS
#define SUM_START_KINDS uint kinds = 0;
#define SUM_END_KINDS part[3] = kinds;
#define SUM_ADD(bits, unused)                        \
  {                                                  \
    const MASU_BITS b = (bits);                      \
    add_double(&sum, &error, &lost, SUM_VALUE(b));   \
    if (!(fabs(sum) <= SUM_GREATEST)) kinds |= kind_of(b, b);  /* from the first one on */ \
  }
#else
#define SUM_START_KINDS
#define SUM_END_KINDS
#endif
#if SUM_NOTES_KINDS
#elif MASU_INPUTS == 1
#define SUM_ADD(bits, unused) add_double(&sum, &error, &lost, as_double(bits));
#elif MASU_ELEMENT_BYTES == 8
#define SUM_ADD(x_bits, y_bits) add_product(&sum, &error, &lost, as_double(x_bits), as_double(y_bits));
#else
// Products are exact. Of infinities and NaNs nothing is known.
#define SUM_ADD(x_bits, y_bits)                                                                                     \
  {                                                                                                                 \
    const MASU_BITS a = (x_bits);                                                                                   \
    const MASU_BITS b = (y_bits);                                                                                   \
    if (SUM_MAGNITUDE(a) >= MASU_INFINITY_BITS || SUM_MAGNITUDE(b) >= MASU_INFINITY_BITS)                           \
      lost = as_double(0x7ff0000000000000UL);                                                                       \
    add_double(&sum, &error, &lost, (SUM_SMALL_DOUBLE(a) * SUM_SCALE) * (SUM_SMALL_DOUBLE(b) * SUM_SCALE));         \
  }
#endif
#define SUM_END_PART          \
  part[0] = as_ulong(sum);    \
  part[1] = as_ulong(error);  \
  part[2] = as_ulong(lost);   \
  SUM_END_KINDS
inline void add_part(ulong *part, const ulong *other) { add_sums(part, other); }
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
#if SUM_NOTES_KINDS
  if (part[3] != 0) {
    *found = special_bits((uint)part[3], precision, bits);
    return true;
  }
  // The sum of two doubles is rounded once, as the result is, where nothing else was lost; its half is exact.
  if ((MASU_RUNNING || (MASU_FINE && count <= 2)) && part[2] == 0 && fabs(as_double(part[0])) <= SUM_GREATEST) {
    double whole = as_double(part[0]);
    const double rest = add_exactly(&whole, as_double(part[1]));
#if MASU_ELEMENT_BYTES < 8
    *found = rounded_double(to_odd(whole, rest), precision, least, bits);
    return true;
#endif
    const ulong sum = as_ulong(divisor > 1 ? whole / 2 : whole);
    *found = sum << 1 == 0 ? 0 : sum;
    return true;
  }
#endif
  return certain(as_double(part[0]), as_double(part[1]), bound_of(as_double(part[2])), what, divisor, precision, least,
                 bits, found);
}
#else
// A sum of doubles, which all elements and most products are; that of their magnitudes, or more; what tells of infinities and
// NaNs; and the least place that a bit of an element can have, from which it follows whether all additions were exact.
// With SUM_CLOSE the sum of what additions round away too: for results of 64 bits, and for many rows, of which some nearly
// cancel.
#define SUM_CLOSE (MASU_FINE || MASU_CLOSE || MASU_ELEMENT_BYTES == 8)
#if !SUM_CLOSE
// The elements of some loads are added by themselves, so that most go through few additions that round.
#undef SUM_START_LOADS
#undef SUM_END_LOADS
#if MASU_BOTH
#define SUM_START_LOADS                   \
  const double sum_before = sum;          \
  const double squares_before = squares;  \
  sum = squares = 0;
#define SUM_END_LOADS  \
  sum += sum_before;   \
  squares += squares_before;
#else
#define SUM_START_LOADS           \
  const double sum_before = sum;  \
  sum = 0;
#define SUM_END_LOADS sum += sum_before;
#endif
#endif
#if SUM_CLOSE
#define SUM_START_ERROR double error = 0;
#define SUM_END_ERROR part[3] = as_ulong(error);
#define SUM_ADD_TO(sum, error, value) error += add_exactly(&sum, value);
#else
#define SUM_START_ERROR
#define SUM_END_ERROR
#define SUM_ADD_TO(sum, error, value) sum += value;
#endif
#define SUM_BY_FOUR (SUM_CLOSE && MASU_ELEMENT_BYTES == 4 && (!MASU_BY_COLUMN || (MASU_CLOSE && MASU_UNROLL % 4 == 0)))
#if SUM_BY_FOUR
// Four elements, with the greatest magnitude and the least one that is not 0, less 1, at the top of a word. Returns whether
// their sum is exact, as it mostly is: all are multiples of the unit of the least one, with 24 bits and at most 27 more;
// four of them have 53.
MASU_INLINE bool take_four(const uint *words, double *values, uint *greatest, uint *least) {
  *greatest = 0;
  *least = UINT_MAX;
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < 4; ++e) {
    const uint shifted = words[e] << 1;
    *greatest = max(*greatest, shifted);
    *least = min(*least, shifted - 1);
    values[e] = SUM_SMALL_DOUBLE(words[e]);
  }
  return (int)(*greatest >> 24) - (int)(*least >> 24) <= 27;
}
#endif
// What an addition takes away of the magnitudes, whose sum is rounded itself.
#define SUM_ROUNDING 0x1.1p-53
#if MASU_BOTH  // sum_spread.cl has it
#elif MASU_INPUTS == 1
#define SUM_PART_WORDS (SUM_CLOSE ? 4 : 3)
#define SUM_START_PART   \
  double sum = 0;        \
  double size = 0;       \
  SUM_START_ERROR        \
  uint worst = 0;        \
  uint lowest = UINT_MAX;
#define SUM_END_PART                           \
  part[0] = as_ulong(sum);                     \
  part[1] = as_ulong(size);                    \
  part[2] = (ulong)worst << 32 | (ulong)lowest; \
  SUM_END_ERROR
#if SUM_SHORT
MASU_NOINLINE bool certain_apart(const double sum, const double bound, const uint what, const ulong divisor,
                                 const uint precision, const int least, const uint bits, ulong *found) {
  return certain(sum, 0, bound, what, divisor, precision, least, bits, found);
}
#define SUM_ADD(bits, unused)                                         \
  {                                                                   \
    const MASU_BITS b = (bits);                                       \
    const double value = SUM_VALUE(b);                                \
    sum += value;                                                     \
    lowest = SUM_FEW_PLACES ? 0 : min(lowest, SUM_LOWEST_OF(b));      \
    size += SUM_FEW_PLACES ? 0 : fabs(value);                         \
  }
#elif !SUM_FEW_PLACES
// The sum of magnitudes tells of infinities and NaNs: it is less than the number of their exponent where there are none, but
// for sums that f32 hardly has.
#define SUM_NO_NUMBERS(worst, size) ((size) >= 0x1p-768)
#define SUM_ADD(bits, unused)                                                 \
  {                                                                           \
    const MASU_BITS b = (bits);                                               \
    lowest = min(lowest, SUM_LOWEST_OF(b));                                   \
    const double value = SUM_SMALL_DOUBLE(b);                                 \
    SUM_ADD_TO(sum, error, value)                                             \
    size += fabs(value);                                                      \
  }
#if SUM_BY_FOUR
#define SUM_ADD_FOUR(words)                                                                   \
  {                                                                                           \
    uint greatest;                                                                            \
    uint least;                                                                               \
    double value[4];                                                                          \
    if (take_four(words, value, &greatest, &least)) {                                         \
      SUM_ADD_TO(sum, error, (value[0] + value[1]) + (value[2] + value[3]))                   \
    } else {                                                                                  \
      MASU_UNROLLED                                                                           \
      for (int e = 0; e < 4; ++e) {                                                           \
        SUM_ADD_TO(sum, error, value[e])                                                      \
      }                                                                                       \
    }                                                                                         \
    lowest = min(lowest, least);                                                              \
    size = fma(4.0, SUM_SMALL_DOUBLE(greatest >> 1), size); /* at most four times as much */  \
  }
#if MASU_BY_COLUMN
// Four loads bring them, zeros in place of those that are not there.
#undef SUM_ADD_LOADS
#define SUM_ADD_LOADS(n, is_there)                                                                          \
  {                                                                                                         \
    uint all_x[n];                                                                                          \
    MASU_UNROLLED                                                                                           \
    for (int k = 0; k < (n); ++k)                                                                           \
      all_x[k] = element_at(xs, head + (is_there ? i + k * stride : i) * SUM_BETWEEN);                      \
    MASU_UNROLLED                                                                                           \
    for (int k = 0; k < (n); ++k) all_x[k] = is_there ? all_x[k] : 0;                                       \
    MASU_UNROLLED                                                                                           \
    for (int k = 0; k < (n); k += 4) SUM_ADD_FOUR(all_x + k)                                                \
  }
#else
#undef SUM_ADD_VECTOR
#define SUM_ADD_VECTOR(k) SUM_ADD_FOUR(all_x[k])
#endif
#endif
// The field of the double that is 2^52 times the unit of the lowest element.
#define SUM_EXACT_FIELD(part) (SUM_LOWEST_PLACE((uint)part[2]) + (53 - MASU_FRACTION))
#define SUM_ALL_ZEROS(part) ((uint)part[2] == UINT_MAX)
#else
// All elements are multiples of the least one, so few bits that no lowest element is noted, and all magnitudes are taken for
// the greatest. An element stands in the upper half of a word, whatever is below.
#define SUM_NO_NUMBERS(worst, size) ((worst) >> SUM_SIGN_SHIFT >= MASU_INFINITY_BITS)
#define SUM_UPPER_BITS (0x80000000u | 0x7fff0000u >> SUM_SPARE)
#define SUM_TAKE_UPPER(word, add_value)                                                         \
  {                                                                                             \
    const uint upper = (word);                                                                  \
    worst = max(worst, upper << 1);                                                             \
    const double value =                                                                        \
        as_double((ulong)((uint)(as_int(upper) >> SUM_SPARE) & SUM_UPPER_BITS) << 32);          \
    add_value                                                                                   \
  }
#define SUM_ADD(bits, unused) SUM_TAKE_UPPER((uint)(bits) << 16, SUM_ADD_TO(sum, error, value))
#if !MASU_BY_COLUMN
#define SUM_TAKE_HALVES(k, add_value)                   \
  MASU_UNROLLED                                         \
  for (int w = 0; w < 4; ++w) {                         \
    SUM_TAKE_UPPER(all_x[k][w] << 16, add_value)        \
    SUM_TAKE_UPPER(all_x[k][w], add_value)              \
  }
#undef SUM_ADD_VECTOR
#if MASU_FINE
#define SUM_ADD_VECTOR(k)                        \
  double eight = 0;                              \
  SUM_TAKE_HALVES(k, eight += value;)            \
  SUM_ADD_TO(sum, error, eight)
#else
#define SUM_ADD_VECTOR(k) SUM_TAKE_HALVES(k, sum += value;)
#endif
#endif
#define SUM_SIZE_OF(part, count) ((double)(count) * SUM_SMALL_DOUBLE((uint)(part[2] >> 32) >> SUM_SIGN_SHIFT))
#define SUM_EXACT_FIELD(part) (53 - MASU_FRACTION)
#define SUM_ALL_ZEROS(part) false
#endif
#define SUM_OF_SCALE(x) ((x) * SUM_SCALE)
#else
// For products: the lowest bits of both factors.
#define SUM_PART_WORDS 4
#define SUM_START_PART        \
  double sum = 0;             \
  double size = 0;            \
  uint worst = 0;             \
  uint lowest = UINT_MAX;     \
  uint other_lowest = UINT_MAX;
#define SUM_END_PART                            \
  part[0] = as_ulong(sum);                      \
  part[1] = as_ulong(size);                     \
  part[2] = (ulong)worst << 32 | (ulong)lowest; \
  part[3] = other_lowest;
#define SUM_ADD(x_bits, y_bits)                                                                \
  {                                                                                            \
    const MASU_BITS a = (x_bits);                                                              \
    const MASU_BITS b = (y_bits);                                                              \
    const uint a_shifted = (uint)a << SUM_SIGN_SHIFT;                                          \
    const uint b_shifted = (uint)b << SUM_SIGN_SHIFT;                                          \
    worst = max(worst, max(a_shifted, b_shifted));                                             \
    lowest = min(lowest, a_shifted - 1);                                                       \
    other_lowest = min(other_lowest, b_shifted - 1);                                           \
    const double value = (SUM_SMALL_DOUBLE(a) * SUM_SCALE) *                      \
                         (SUM_SMALL_DOUBLE(b) * SUM_SCALE);                       \
    sum += value;                                                                              \
    size += fabs(value);                                                                       \
  }
#define SUM_OF_SCALE(x) (x)
#define SUM_NO_NUMBERS(worst, size) ((worst) >> SUM_SIGN_SHIFT >= MASU_INFINITY_BITS)
#define SUM_EXACT_FIELD(part)  \
  (SUM_LOWEST_PLACE((uint)part[2]) + SUM_LOWEST_PLACE((uint)part[3]) + (1023 + 52 - 2 * SUM_LEAST_EXPONENT))
#define SUM_ALL_ZEROS(part) ((uint)part[2] == UINT_MAX || (uint)part[3] == UINT_MAX)
#endif
#ifndef SUM_SIZE_OF
#define SUM_SIZE_OF(part, count) as_double(part[1])
#endif
#if !MASU_BOTH
inline void add_part(ulong *part, const ulong *other) {
  double sum = as_double(part[0]);
#if SUM_CLOSE
  double error = as_double(part[3]) + as_double(other[3]);
#endif
  SUM_ADD_TO(sum, error, as_double(other[0]))
  part[0] = as_ulong(sum);
  part[1] = as_ulong(as_double(part[1]) + as_double(other[1]));
  SUM_END_ERROR
  const ulong worst = max(part[2] >> 32, other[2] >> 32);
  part[2] = worst << 32 | min(part[2] & 0xffffffffUL, other[2] & 0xffffffffUL);
#if MASU_INPUTS == 2
  part[3] = min(part[3], other[3]);
#endif
}
// The result of `count` elements. `depth`: the most additions that an element has gone through.
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const double size = SUM_SIZE_OF(part, count);
#if SUM_SHORT
  const double sum = as_double(part[0]);
  if (!(fabs(sum) < as_double(0x7ff0000000000000UL))) {
    const uint kinds = sum != sum ? MASU_NAN : sum < 0 ? MASU_MINUS_INFINITY : MASU_INFINITY;
    *found = special_bits(kinds, precision, bits);
    return true;
  }
  // Sums of few places are exact. That of two others, rounded to 53 bits, rounds to their precision or more as if it were, where
  // the result has their least number.
  const bool is_fine = precision > MASU_FRACTION && least <= -SUM_LEAST_EXPONENT;
  if (SUM_FEW_PLACES || (count <= 2 ? is_fine : size <= SUM_EXACT_UP_TO((uint)part[2]))) {
    *found = rounded_quotient(sum, divisor, precision, least, bits);
    return true;
  }
  const double bound = count <= 2 ? fabs(sum) * 0x1p-52 : (double)depth * SUM_ROUNDING * size;
  ulong rare = 0;  // not `found`, whose address no function may have that is called
  const bool sure = certain_apart(sum, bound, what, divisor, precision, least, bits, &rare);
  *found = rare;
  return sure;
#else
  if (SUM_NO_NUMBERS((uint)(part[2] >> 32), size)) return false;
  // All partial sums are multiples of the lowest bit, and less than 2^53 of them.
  const bool exact = SUM_ALL_ZEROS(part) || size <= as_double((ulong)SUM_EXACT_FIELD(part) << 52);
#if SUM_CLOSE
  const double error = as_double(part[3]);
  const double share = tiny_share(depth);
#else
  const double error = 0;
  const double share = (double)depth * SUM_ROUNDING;
#endif
  // Scaled first: a share of the least numbers is none.
  return certain(SUM_OF_SCALE(as_double(part[0])), SUM_OF_SCALE(error), exact ? 0 : share * SUM_OF_SCALE(size), what,
                 divisor, precision, least, bits, found);
#endif
}
#endif
#endif

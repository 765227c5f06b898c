// SPDX-License-Identifier: Apache-2.0
// Variances of floats that need no exact total, from sums of doubles. After sum_quick.cl, of which this is a part.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#if MASU_QUICK && MASU_FLOAT && MASU_BOTH
#if MASU_ELEMENT_BYTES == 8 && MASU_FINE && MASU_LINES > 1 && MASU_UNROLL == 2
// The difference of two elements and what is rounded away of it: its square is n S - V^2, and its root no tie that a bound would
// not tell.
#define SUM_STARTED 2
#define SUM_PART_WORDS 2
#define SUM_START_PART                              \
  double difference = as_double(SUM_HELD(0));       \
  const double rest = add_exactly(&difference, -as_double(SUM_HELD(1)));
#define SUM_ADD(bits, unused)
#define SUM_END_PART               \
  part[0] = as_ulong(difference);  \
  part[1] = as_ulong(rest);
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const double difference = fabs(as_double(part[0]));
  const double rest = as_double(part[0]) < 0 ? -as_double(part[1]) : as_double(part[1]);
  const bool root = what == SUM_AS_DEVIATION;
  *found = as_ulong(difference / 2);
  if (difference == 0 || (root && divisor == 0 && difference >= 0x1p-900 && difference <= 0x1p500)) return true;
  const double share = 1 / (double)(count * (count - divisor));  // a power of two
  double square = difference * difference;
  const double twice = 2 * difference * rest;
  double more = fma(difference, difference, -square) + twice;
  const double wide = rest == 0 ? 0 : (fabs(more) + fabs(twice)) * 0x1p-50 + rest * rest;
  more = add_exactly(&square, more);
  *found = as_ulong(square * share);
  if (!(square >= 0x1p-800 && square <= 0x1p900)) return false;
  return (rest == 0 && !root) || certain_double(square * share, more * share, wide * share, root, found);
}
#elif SUM_BY_PIVOT
// Few elements: their differences from `pivot`, the first one, are added. Their variance is the same, and few of them cancel by
// little. Infinities and NaNs make the squares' sum one. Two elements, the first of which has the difference 0, are added to
// nothing.
#define SUM_STARTED (MASU_UNROLL > 1 ? 2 : 1)
#define SUM_PART_WORDS 3
#define SUM_START_PART                                                 \
  const double pivot = SUM_VALUE(SUM_HELD(0));                         \
  double sum = SUM_VALUE(SUM_HELD(SUM_STARTED - 1)) - pivot;           \
  double squares = sum * sum;                                          \
  uint lowest = min(SUM_LOWEST_OF(SUM_HELD(0)), SUM_LOWEST_OF(SUM_HELD(SUM_STARTED - 1)));
#define SUM_ADD(bits, unused)                      \
  {                                                \
    const MASU_BITS b = (bits);                    \
    lowest = min(lowest, SUM_LOWEST_OF(b));        \
    const double value = SUM_VALUE(b) - pivot;     \
    sum += value;                                  \
    squares = fma(value, value, squares);          \
  }
#define SUM_END_PART             \
  part[0] = as_ulong(sum);       \
  part[1] = as_ulong(squares);   \
  part[2] = lowest;
MASU_INLINE bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                           const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const double n = (double)count;
  const double sum = as_double(part[0]);
  const double upper = n * as_double(part[1]);
  if (!(upper < as_double(0x7ff0000000000000UL))) {
    *found = special_bits(MASU_NAN, precision, bits);
    return true;
  }
  *found = 0;
  if (MASU_UNROLL == 1) return true;
  // All are multiples of the lowest element's unit; below 2^52 of them, and squares of its square, nothing is rounded. Of
  // two elements n S - V^2 is the square of V, which is known with its rounding.
  const uint unit = SUM_UNIT_FIELD((uint)part[2]);
  const bool exact = count == 2 ? fabs(sum) <= as_double((ulong)unit << 52)
                                : upper <= as_double((ulong)(2 * unit - 1075) << 52);
  const double numerator = count == 2 ? sum * sum : fma(-sum, sum, upper);
  const double rest = count == 2 ? fma(sum, sum, -numerator) : 0;
  // Differences, their sum and that of their squares are off by less than 3 n + 5 roundings of `upper`, which is at most n
  // times the numerator.
  const double share = (double)((3 * count + 5) * count + 8) * 0x1p-53;
  const double all = n * (double)(count - divisor);
  return rounded_variance(quotient_of(numerator, all, 1 / all), numerator, rest, all, exact, share,
                          what == SUM_AS_DEVIATION, precision, least, bits, found);
}
#else
// Sums of the values and of their squares; bits that some element has, and those that all have. With SUM_CLOSE sums of what is
// rounded away, too, and of f64 the upper word of the least magnitude that is not 0, without its sign, less 1.
#define SUM_PART_WORDS (MASU_ELEMENT_BYTES == 8 ? 7 : SUM_CLOSE ? 5 : 3)
#define SUM_START_PART    \
  double sum = 0;         \
  double squares = 0;     \
  SUM_START_ERROR         \
  SUM_START_SQUARE_ERROR  \
  MASU_BITS some = 0;     \
  MASU_BITS all = (MASU_BITS)ULONG_MAX;  \
  SUM_START_LOWEST
#define SUM_END_PART           \
  part[0] = as_ulong(sum);     \
  part[1] = as_ulong(squares); \
  SUM_END_BITS                 \
  SUM_END_ERROR                \
  SUM_END_SQUARE_ERROR
#if MASU_ELEMENT_BYTES == 8
#define SUM_START_LOWEST uint lowest = UINT_MAX;
#define SUM_NOTE_LOWEST(b) lowest = min(lowest, ((uint)((b) >> 32) << 1) + min((uint)(b), 1u) - 1);
#define SUM_END_BITS  \
  part[2] = some;     \
  part[5] = all;      \
  part[6] = lowest;
#else
#define SUM_START_LOWEST
#define SUM_NOTE_LOWEST(b)
#define SUM_END_BITS part[2] = (ulong)some << 32 | (ulong)(uint)all;
#endif
#if SUM_CLOSE
#define SUM_START_SQUARE_ERROR double square_error = 0;
#define SUM_END_SQUARE_ERROR part[4] = as_ulong(square_error);
#define SUM_ADD_SQUARE(value)                                                     \
  const double square = (value) * (value);                                        \
  square_error += add_exactly(&squares, square)                                   \
                  + (MASU_ELEMENT_BYTES == 8 ? fma(value, value, -square) : 0);  // products of others are exact
#else
#define SUM_START_SQUARE_ERROR
#define SUM_END_SQUARE_ERROR
#define SUM_ADD_SQUARE(value) squares = fma(value, value, squares);
#endif
#define SUM_ADD(bits, unused)              \
  {                                        \
    const MASU_BITS b = (bits);            \
    some |= b;                             \
    all &= b;                              \
    SUM_NOTE_LOWEST(b)                     \
    const double value = SUM_VALUE(b);     \
    SUM_ADD_TO(sum, error, value)          \
    SUM_ADD_SQUARE(value)                  \
  }
#if SUM_BY_FOUR
// Mostly the sum is exact, and what a sum of squares that is above each of their own loses takes two operations to find: in
// all half of those that four additions with their errors take.
MASU_INLINE void add_four(const uint *words, double *all_sum, double *all_error, double *all_squares,
                          double *all_square_error) {
  double sum = *all_sum;
  double error = *all_error;
  double squares = *all_squares;
  double square_error = *all_square_error;
  uint greatest;
  uint least;
  double values[4];
  const bool exact = take_four(words, values, &greatest, &least);
  const int exponent = (int)(greatest >> 24);
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < 4; ++e) values[e] *= SUM_SCALE;
  // Each square is less than 2^(2 (exponent - 126)), and so not above `squares`.
  const bool above = (int)(as_ulong(squares) >> 52) >= 2 * exponent + (1023 - 2 * 126);
  if (exact && above) {
    SUM_ADD_TO(sum, error, (values[0] + values[1]) + (values[2] + values[3]))
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < 4; ++e) {
      const double before = squares;
      squares = fma(values[e], values[e], before);
      square_error += fma(values[e], values[e], before - squares);
    }
  } else {
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < 4; ++e) {
      SUM_ADD_TO(sum, error, values[e])
      SUM_ADD_SQUARE(values[e])
    }
  }
  *all_sum = sum;
  *all_error = error;
  *all_squares = squares;
  *all_square_error = square_error;
}
#undef SUM_ADD_VECTOR
#define SUM_ADD_VECTOR(k)                                                   \
  some |= all_x[k][0] | all_x[k][1] | all_x[k][2] | all_x[k][3];            \
  all &= all_x[k][0] & all_x[k][1] & all_x[k][2] & all_x[k][3];             \
  add_four(all_x[k], &sum, &error, &squares, &square_error);
#endif
inline void add_part(ulong *part, const ulong *other) {
  double sum = as_double(part[0]);
  double squares = as_double(part[1]);
#if MASU_ELEMENT_BYTES == 8
  const ulong some = part[2] | other[2];
  const ulong all = part[5] & other[5];
  const ulong lowest = min(part[6], other[6]);
#else
  const uint some = (uint)(part[2] >> 32) | (uint)(other[2] >> 32);
  const uint all = (uint)part[2] & (uint)other[2];
#endif
#if SUM_CLOSE
  double error = as_double(part[3]) + as_double(other[3]);
  double square_error = as_double(part[4]) + as_double(other[4]);
  square_error += add_exactly(&squares, as_double(other[1]));
#else
  squares += as_double(other[1]);
#endif
  SUM_ADD_TO(sum, error, as_double(other[0]))
  SUM_END_PART
}
// The result of `count` elements. `depth`: the most additions that an element has gone through. `divisor` is ddof.
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const double sum = as_double(part[0]);
  const double squares = as_double(part[1]);
  const double n = (double)count;
  // The square of the magnitudes' sum is at most this (Cauchy and Schwarz).
  const double upper = n * squares;
#if SUM_CLOSE
  // take_four() gives infinities and NaNs as numbers, whose squares no others' sum of use reaches.
  if (!(squares < (MASU_ELEMENT_BYTES == 8 ? 0x1p1000 : 0x1p256))) return false;
  *found = 0;
#if MASU_ELEMENT_BYTES == 8
  if (part[2] == part[5]) return true;  // all elements are alike
  // All are multiples of 2^unit: the least one's last bit, and above it the zeros at the end of all. What is rounded away are multiples
  // of that, or of its square, and none of it is lost up to 2^53 of them.
  const ulong ends = (part[2] & 0xfffffffffffffUL) | (ulong)1 << 52;
  const int unit = (int)(((uint)part[6] + 1) >> 21) - 1012 - (int)clz(ends & (0 - ends));
  const bool exact = unit >= -480 && upper <= as_double((ulong)min(2 * unit + 1123, 2046) << 52);
#else
  if (part[2] >> 32 == (uint)part[2]) return true;
  const bool exact = false;
#endif
  const double tiny = exact ? 0 : tiny_share(depth);
  return certain_fine_variance(sum, as_double(part[3]), tiny * sqrt(upper) * (1 + 0x1p-20), squares, as_double(part[4]),
                               exact ? 0 : tiny * squares + n * as_double((ulong)1), count, divisor,
                               what == SUM_AS_DEVIATION, precision, least, bits, found);
#else
  if (!(squares < as_double(0x7ff0000000000000UL))) {
    *found = special_bits(MASU_NAN, precision, bits);
    return true;
  }
  *found = 0;
  if (part[2] >> 32 == (uint)part[2]) return true;
  const double numerator = fma(-sum, sum, upper);
  const double wide = upper * (3.1 * (double)depth * SUM_ROUNDING + 0x1p-51);
  if (!(wide <= numerator / 4) || numerator == 0) return false;
  // More than what that is of the numerator, of whose root it is 0.54 of that at most, with what a quotient is off.
  const double share = wide / numerator * 1.5;
  const double all = n * (double)(count - divisor);
  return rounded_variance(quotient_of(numerator, all, 1 / all), numerator, 0, all, false, share, what == SUM_AS_DEVIATION,
                          precision, least, bits, found);
#endif
}
#endif
#endif

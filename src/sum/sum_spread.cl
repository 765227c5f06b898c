// SPDX-License-Identifier: Apache-2.0
// Variances of floats below f64 that need no exact total, from sums of doubles. After sum_quick.cl, of which this is a part.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#if MASU_QUICK && MASU_FLOAT && MASU_ELEMENT_BYTES < 8 && MASU_BOTH
// The sum of the squares bounds that of the magnitudes. In place of the places: bits that some element has, and those that
// all have.
#define SUM_PART_WORDS (MASU_FINE ? 5 : 3 + SUM_BY_PIVOT)
#define SUM_START_PART    \
  double sum = 0;         \
  double squares = 0;     \
  SUM_START_ERROR         \
  SUM_START_SQUARE_ERROR  \
  uint some = 0;          \
  uint all = UINT_MAX;    \
  SUM_START_DIFFERENCES
#define SUM_END_PART                        \
  part[0] = as_ulong(sum);                  \
  part[1] = as_ulong(squares);              \
  part[2] = (ulong)some << 32 | (ulong)all; \
  SUM_END_ERROR                             \
  SUM_END_SQUARE_ERROR                      \
  SUM_END_LOST
#if MASU_FINE
#define SUM_START_SQUARE_ERROR double square_error = 0;
#define SUM_END_SQUARE_ERROR part[4] = as_ulong(square_error);
#define SUM_ADD_SQUARE(value) SUM_ADD_TO(squares, square_error, (value) * (value))  // products are exact
#else
#define SUM_START_SQUARE_ERROR
#define SUM_END_SQUARE_ERROR
#define SUM_ADD_SQUARE(value) squares = fma(value, value, squares);
#endif
// Rows of few elements, and others whose result is not certain (sum_round.cl), add the differences from `pivot`, the
// first element, whose variance is the same; few of them cancel by little. Their roundings are as those of additions.
// `lost`: what is rounded away; `squares` is infinite where there are infinities or NaNs.
#define SUM_ADD_DIFFERENCE(bits)                                                                   \
  {                                                                                                \
    const MASU_BITS b = (bits);                                                                    \
    double value = SUM_VALUE(b);                                                                   \
    lost += fabs(add_exactly(&value, -pivot));                                                     \
    const double square = value * value;                                                           \
    lost += fabs(add_exactly(&sum, value)) + fabs(fma(value, value, -square)) + fabs(add_exactly(&squares, square)); \
    SUM_NOTE(b)                                                                                    \
  }
#define SUM_VALUE(bits) (SUM_SMALL_DOUBLE(bits) * SUM_SCALE)
#define SUM_NOTE(b)       \
  some |= SUM_MARKED(b);  \
  all &= (b);             \
  if (SUM_MAGNITUDE(b) >= MASU_INFINITY_BITS) squares = as_double(0x7ff0000000000000UL);
// Infinities and NaNs: as numbers, those of 4 bytes have squares that no sum of use reaches; those of 2 set the highest bit.
#if MASU_ELEMENT_BYTES == 4
#define SUM_MARKED(bits) (bits)
#define SUM_NO_NUMBERS(some, squares) ((squares) >= 0x1p256)
#else
#define SUM_MARKED(bits) ((bits) | (SUM_MAGNITUDE(bits) + (0x8000u - MASU_INFINITY_BITS)) << 16)
#define SUM_NO_NUMBERS(some, squares) ((some) >> 31 != 0)
#endif
#define SUM_BY_PIVOT (MASU_LINES > 1 && !MASU_FINE)
#if SUM_BY_PIVOT
// Two elements, the first of which has the difference 0, are added to nothing.
#define SUM_STARTED (MASU_UNROLL > 1 ? 2 : 1)
#define SUM_START_DIFFERENCES                       \
  const double pivot = SUM_VALUE(held[0]);          \
  sum = SUM_VALUE(held[SUM_STARTED - 1]);           \
  double lost = fabs(add_exactly(&sum, -pivot));    \
  squares = sum * sum;                              \
  lost += fabs(fma(sum, sum, -squares));            \
  SUM_NOTE(held[0])                                 \
  SUM_NOTE(held[SUM_STARTED - 1])
#define SUM_END_LOST part[3] = as_ulong(lost);
#define SUM_ADD(bits, unused) SUM_ADD_DIFFERENCE(bits)
#else
#define SUM_START_DIFFERENCES
#define SUM_END_LOST
#define SUM_ADD(bits, unused)                             \
  {                                                       \
    const MASU_BITS b = (bits);                           \
    some |= SUM_MARKED(b);                                \
    all &= b;                                             \
    const double value = SUM_SMALL_DOUBLE(b) * SUM_SCALE;   \
    SUM_ADD_TO(sum, error, value)                         \
    SUM_ADD_SQUARE(value)                                 \
  }
#endif
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
  const uint some = (uint)(part[2] >> 32) | (uint)(other[2] >> 32);
  const uint all = (uint)part[2] & (uint)other[2];
#if MASU_FINE
  double error = as_double(part[3]) + as_double(other[3]);
  double square_error = as_double(part[4]) + as_double(other[4]);
#endif
#if SUM_BY_PIVOT
  const double lost = as_double(part[3]) + as_double(other[3]);
#endif
  SUM_ADD_TO(sum, error, as_double(other[0]))
  SUM_ADD_TO(squares, square_error, as_double(other[1]))
  SUM_END_PART
}
// Not less than the sum of the magnitudes (Cauchy and Schwarz).
inline double size_of_squares(const double squares, const ulong count) {
  return sqrt((double)count * squares) * (1 + 0x1p-20);
}
// The result of `count` elements. `depth`: the most additions that an element has gone through, 0 if all were exact.
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
  const double squares = as_double(part[1]);
  const uint some = (uint)(part[2] >> 32);
#if SUM_BY_PIVOT
  if (squares >= as_double(0x7ff0000000000000UL)) {
    *found = special_bits(MASU_NAN, precision, bits);
    return true;
  }
#endif
  if (SUM_NO_NUMBERS(some, squares)) return false;
  *found = 0;
  if ((some & MASU_ALL_BITS) == (uint)part[2]) return true;  // all elements are alike
  // `divisor` is ddof; a row has `count` elements.
#if MASU_FINE
  const double tiny = tiny_share(depth);
  const double size = size_of_squares(squares, count);
  return certain_fine_variance(as_double(part[0]), as_double(part[3]), tiny * size, squares, as_double(part[4]),
                               tiny * squares, count, divisor, what == SUM_AS_DEVIATION, found);
#else
  double share = (double)depth * 0x1p-51;
#if SUM_BY_PIVOT
  if (as_double(part[3]) == 0) share = 0;
#endif
  const double size = share == 0 ? 0 : size_of_squares(squares, count);
  return certain_variance(as_double(part[0]), share * size, squares, share * squares, count, divisor,
                          what == SUM_AS_DEVIATION, precision, least, bits, found);
#endif
}
#endif

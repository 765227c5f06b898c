// SPDX-License-Identifier: Apache-2.0
// Exact squares, products and variances of integers in rows of less than 2^16 elements: five words hold whatever such a
// row needs, so that a work-item makes a result in registers. Rounded once, by the rules of sum_number.cl. After
// sum_finish.cl and sum_integers.cl.

#if SUM_IN_FEW_WORDS
// words *= factor.
MASU_INLINE void multiply_narrow(uint* words, const uint factor) {
  ulong carry = 0;
  MASU_UNROLLED
  for (int w = 0; w < SUM_REGISTER_WORDS; ++w) {
    carry += (ulong)words[w] * factor;
    words[w] = (uint)carry;
    carry >>= 32;
  }
}

// words -= the square of a magnitude of less than 2^80. The difference is not negative.
MASU_INLINE void subtract_narrow_square(uint* words, const ulong low, const ulong high) {
  const uint value[3] = {(uint)low, (uint)(low >> 32), (uint)high};
  MASU_UNROLLED
  for (int i = 0; i < 3; ++i) {
    ulong carry = 0;
    MASU_UNROLLED
    for (int w = i; w < SUM_REGISTER_WORDS; ++w) {
      const ulong product = w - i < 3 ? (ulong)value[i] * value[w - i < 3 ? w - i : 0] + carry : carry;
      const ulong rest = (ulong)words[w] - (product & 0xffffffffu);
      words[w] = (uint)rest;
      carry = (product >> 32) + (rest >> 63);
    }
  }
}

// `wide`: the products' sum, three words of 64 bits; `low` and `high`: that of the values.
MASU_INLINE bool narrow_result(const ulong* wide, ulong low, ulong high, const ulong count, const uint what,
                               const ulong divisor, const uint precision, const int least, const uint bits,
                               ulong* found, bool* fits) {
  if (what == SUM_AS_INTEGER) {
    const ulong sign = MASU_SIGNED && as_long(wide[0]) < 0 ? ULONG_MAX : 0;
    *found = wide[0];
    *fits = wide[1] == sign && wide[2] == sign;
    return true;
  }
  uint words[SUM_REGISTER_WORDS] = {(uint)wide[0], (uint)(wide[0] >> 32), (uint)wide[1], (uint)(wide[1] >> 32),
                                   (uint)wide[2]};
#if MASU_BOTH
  if (MASU_SIGNED && as_long(high) < 0) {
    low = 0 - low;
    high = ~high + (low == 0 ? 1 : 0);
  }
  multiply_narrow(words, (uint)count);
  subtract_narrow_square(words, low, high);
  // From the top on the quotient has 128 bits.
  const int lowest = -to_the_top(words);
#if MASU_FINE && MASU_FP64
  // Mostly the upper three words tell.
  const double unit = as_double((ulong)(1023 + 96 + lowest) << 52);
  double numerator = (double)words[4] * 0x1p32 * unit;
  const double rest = add_exactly(&numerator, (double)words[3] * unit) + (double)words[2] * 0x1p-32 * unit;
  double value;
  double beside;
  double bound;
  if (words[4] != 0 &&
      divided_twice(numerator, rest, 0x1p-32 * unit, (double)count, (double)(count - divisor), &value, &beside, &bound) &&
      certain_double(value, beside, bound, what == SUM_AS_DEVIATION, found)) {
    return true;
  }
#endif
  const bool more = divide_words(words, (uint)(count * (count - divisor)));
  *found = finished_words(words, lowest, more, what == SUM_AS_DEVIATION, precision, least, bits);
  return true;
#else
  if (what != SUM_AS_ROOT) return false;
  *found = finished_words(words, 0, false, true, precision, least, bits);
  return true;
#endif
}

// What a work-item knows of its part of a row, as in sum_quick.cl.
#undef SUM_ADD
// Rows of less than 2^16 elements: a number of 192 bits in two's complement; for a variance also the values' sum, 128 bits.
#define SUM_PART_WORDS (3 + 2 * MASU_BOTH)
#define SUM_START_PART       \
  ulong wide[3] = {0, 0, 0}; \
  ulong total[2] = {0, 0};
#if MASU_BOTH
#define SUM_ADD(bits, unused)         \
  {                                   \
    const MASU_BITS one = (bits);     \
    SUM_ADD_NUMBER(total, one)        \
    SUM_ADD_PRODUCT(wide, one, one)   \
  }
#else
#define SUM_ADD(x_bits, y_bits) SUM_ADD_PRODUCT(wide, x_bits, y_bits)
#endif
#define SUM_END_PART                                                \
  extend(wide, SUM_PRODUCT_WORDS, 3);                               \
  extend(total, SUM_NUMBER_WORDS, 2);                               \
  for (int w = 0; w < 3; ++w) part[w] = wide[w];                    \
  for (int w = 0; w < 2 * MASU_BOTH; ++w) part[3 + w] = total[w];
inline void add_part(ulong *part, const ulong *other) {
  add_wide(part, other[0], other[1], other[2]);
#if MASU_BOTH
  part[3] += other[3];
  part[4] += other[4] + (part[3] < other[3] ? 1 : 0);
#endif
}
inline bool result_of(const ulong *part, const ulong count, const ulong depth, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, ulong *found, bool *fits) {
#if MASU_BOTH && MASU_LINES > 1 && MASU_UNROLL == 1
  *found = 0;
  return true;
#endif
  return narrow_result(part, part[SUM_PART_WORDS - 2], part[SUM_PART_WORDS - 1], count, what, divisor, precision,
                       least, bits, found, fits);
}
#endif

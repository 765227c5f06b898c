// SPDX-License-Identifier: Apache-2.0
// The mean of two elements as NumPy's median has it, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++): their sum,
// which begins with +0, rounded, then its half. In integers alone, so that devices without double or without subnormals give
// the same bits.
// Behind elements.cl.

// The format in which two are added, and that of the mean: precision, the exponent of the lowest bit, bits.
#if MASU_FLOAT && MASU_ELEMENT_BYTES < 8
#define MASU_SUM_FORMAT 24u, -149, 32u
#else
#define MASU_SUM_FORMAT 53u, -1074, 64u
#endif
#if MASU_FLOAT && MASU_ELEMENT_BYTES == 2
#define MASU_MEAN_FORMAT 11u, -24, 16u
#define MASU_MEAN ushort
#elif MASU_FLOAT && MASU_ELEMENT_BYTES == 4
#define MASU_MEAN_FORMAT MASU_SUM_FORMAT
#define MASU_MEAN uint
#else
#define MASU_MEAN_FORMAT MASU_SUM_FORMAT
#define MASU_MEAN ulong
#endif
#define MASU_MEAN_QUIET_NAN ((MASU_MEAN)(infinity_of(MASU_MEAN_FORMAT) | quiet_bit_of(MASU_MEAN_FORMAT)))

inline ulong infinity_of(const uint precision, const int least, const uint bits) {
  return ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
}
inline ulong quiet_bit_of(const uint precision, const int least, const uint bits) { return (ulong)1 << (precision - 2); }

// mantissa * 2^exponent, rounded to nearest, ties to even, as the bits of a format.
inline ulong rounded_number(const ulong mantissa, const int exponent, const uint precision, const int least,
                            const uint bits) {
  if (mantissa == 0) return 0;
  const int top = 63 - (int)clz(mantissa);
  const int low = max(top - (int)precision + 1, least - exponent);
  if (low > top + 1) return 0;
  ulong kept = mantissa;
  if (low > 0) {
    kept = mantissa >> low;
    const ulong rest = mantissa - (kept << low);
    const ulong half_unit = (ulong)1 << (low - 1);
    if (rest > half_unit || (rest == half_unit && (kept & 1) != 0)) ++kept;
  } else {
    kept = mantissa << -low;
  }
  const ulong found = ((ulong)(exponent + low - least) << (precision - 1)) + kept;
  return min(found, infinity_of(precision, least, bits));
}

// The mantissa and exponent of a finite float's magnitude.
inline ulong number_of(const ulong magnitude, const uint precision, const int least, const uint bits, int *exponent) {
  const ulong field = magnitude >> (precision - 1);
  const ulong fraction = magnitude & (((ulong)1 << (precision - 1)) - 1);
  *exponent = least + (field > 1 ? (int)field - 1 : 0);
  return field != 0 ? fraction | (ulong)1 << (precision - 1) : fraction;
}

// The number that an element is: its sign, mantissa and exponent.
inline ulong number_of_element(const MASU_BITS bits, uint *minus, int *exponent) {
#if MASU_FLOAT
  *minus = (bits & MASU_SIGN) != 0 ? 1 : 0;
#if MASU_ELEMENT_BYTES == 2
  return number_of(bits & (MASU_SIGN - 1), 11u, -24, 16u, exponent);
#else
  return number_of(bits & (MASU_SIGN - 1), MASU_SUM_FORMAT, exponent);
#endif
#else
  ulong magnitude = bits;
  *minus = 0;
#if MASU_SIGNED
  if ((bits & MASU_SIGN) != 0) {
    *minus = 1;
    magnitude = (0 - bits) & MASU_ALL_BITS;
  }
#endif
  return number_of(rounded_number(magnitude, 0, MASU_SUM_FORMAT), MASU_SUM_FORMAT, exponent);
#endif
}

// Of two elements in their order, both no NaN; or with `one` of the first, whose double may be infinite.
inline MASU_MEAN mean_of_two(const MASU_BITS a, const MASU_BITS b, const bool one) {
  const ulong infinity = infinity_of(MASU_SUM_FORMAT);
#if MASU_FLOAT
  if (one) return (MASU_MEAN)((a & (MASU_SIGN - 1)) == 0 ? 0 : a);
  const bool infinite_a = (a & (MASU_SIGN - 1)) == MASU_INFINITY_BITS;
  const bool infinite_b = (b & (MASU_SIGN - 1)) == MASU_INFINITY_BITS;
  if (infinite_a && infinite_b && a != b) return MASU_MEAN_QUIET_NAN;
  if (infinite_a) return (MASU_MEAN)a;
  if (infinite_b) return (MASU_MEAN)b;
#endif
  uint minus = 0;
  uint other_minus = 0;
  int exponent = 0;
  int other_exponent = 0;
  ulong mantissa = number_of_element(a, &minus, &exponent);
  ulong other = number_of_element(b, &other_minus, &other_exponent);
  const bool same_signs = minus == other_minus;
  if (exponent < other_exponent || (exponent == other_exponent && mantissa < other)) {
    const ulong kept = mantissa;
    mantissa = other;
    other = kept;
    const int kept_exponent = exponent;
    exponent = other_exponent;
    other_exponent = kept_exponent;
    minus = other_minus;
  }
  // Three bits more than a mantissa has, the lowest of which tells of all that is lost below.
  const uint apart = (uint)(exponent - other_exponent);
  const ulong shifted = other << 3;
  const ulong kept = apart < 64 ? shifted >> apart : 0;
  const ulong lost = apart < 64 ? shifted - (kept << apart) : shifted;
  const ulong added = kept | (lost != 0 ? 1 : 0);
  const ulong all = same_signs ? (mantissa << 3) + added : (mantissa << 3) - added;
  if (all == 0) return 0;
  const ulong sum = rounded_number(all, exponent - 3, MASU_SUM_FORMAT);
  ulong mean = infinity_of(MASU_MEAN_FORMAT);
  if (sum != infinity) {
    const ulong whole = number_of(sum, MASU_SUM_FORMAT, &exponent);
    mean = rounded_number(whole, exponent - 1, MASU_MEAN_FORMAT);
  }
  return (MASU_MEAN)(mean | (ulong)minus << (8 * sizeof(MASU_MEAN) - 1));
}

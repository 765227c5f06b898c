// SPDX-License-Identifier: Apache-2.0
// IEEE 754's arithmetic in integers, rounded to nearest, ties to even, in OpenCL C 1.2 (and, after the CUDA prelude,
// in CUDA C++): for the few values of a result whose bits must be the same on devices without double or without
// subnormals. A float is its bits in an ulong. Its format is three numbers: precision, the exponent of the lowest bit,
// bits. Included after elements.cl, or in C++ by soft_float.h.

#define MASU_SINGLE_FORMAT 24u, -149, 32u
#define MASU_DOUBLE_FORMAT 53u, -1074, 64u

inline ulong infinity_of(const uint precision, const int least, const uint bits) {
  return ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
}
inline ulong quiet_nan_of(const uint precision, const int least, const uint bits) {
  return infinity_of(precision, least, bits) | (ulong)1 << (precision - 2);
}

// mantissa * 2^exponent.
inline ulong rounded_number(const ulong mantissa, const int exponent, const uint precision, const int least,
                            const uint bits) {
  if (mantissa == 0) return 0;
  const int top = 63 - (int)clz(mantissa);
  const int low = max(top - (int)precision + 1, least - exponent);
  if (low > top + 1) return 0;
  ulong kept = mantissa;
  if (low > 63) {
    kept = mantissa > (ulong)1 << 63 ? 1 : 0;
  } else if (low > 0) {
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
inline ulong number_of(const ulong magnitude, const uint precision, const int least, const uint bits, int* exponent) {
  const ulong field = magnitude >> (precision - 1);
  const ulong fraction = magnitude & (((ulong)1 << (precision - 1)) - 1);
  *exponent = least + (field > 1 ? (int)field - 1 : 0);
  return field != 0 ? fraction | (ulong)1 << (precision - 1) : fraction;
}

// A float in another format.
inline ulong float_as(const ulong x, const uint precision, const int least, const uint bits, const uint to_precision,
                      const int to_least, const uint to_bits) {
  const ulong sign = (ulong)1 << (bits - 1);
  const ulong magnitude = x & (sign - 1);
  const ulong infinity = infinity_of(precision, least, bits);
  if (magnitude > infinity) return quiet_nan_of(to_precision, to_least, to_bits);
  ulong found = infinity_of(to_precision, to_least, to_bits);
  if (magnitude != infinity) {
    int exponent = 0;
    const ulong mantissa = number_of(magnitude, precision, least, bits, &exponent);
    found = rounded_number(mantissa, exponent, to_precision, to_least, to_bits);
  }
  return found | ((x & sign) != 0 ? (ulong)1 << (to_bits - 1) : 0);
}

inline ulong float_sum(ulong x, ulong y, const uint precision, const int least, const uint bits) {
  const ulong sign = (ulong)1 << (bits - 1);
  const ulong infinity = infinity_of(precision, least, bits);
  if ((x & (sign - 1)) < (y & (sign - 1))) {
    const ulong kept = x;
    x = y;
    y = kept;
  }
  const ulong greater = x & (sign - 1);
  const ulong less = y & (sign - 1);
  if (greater > infinity || (less == infinity && x != y)) return quiet_nan_of(precision, least, bits);
  if (greater == infinity) return x;
  int exponent = 0;
  int other_exponent = 0;
  // Three bits more than a mantissa has, the lowest of which tells of all that is lost below.
  const ulong mantissa = number_of(greater, precision, least, bits, &exponent) << 3;
  const ulong other = number_of(less, precision, least, bits, &other_exponent) << 3;
  const uint apart = (uint)(exponent - other_exponent);
  const ulong kept = apart < 64 ? other >> apart : 0;
  const ulong lost = apart < 64 ? other - (kept << apart) : other;
  const ulong added = kept | (lost != 0 ? 1 : 0);
  const ulong all = ((x ^ y) & sign) == 0 ? mantissa + added : mantissa - added;
  if (all == 0) return x & y & sign;
  return (x & sign) | rounded_number(all, exponent - 3, precision, least, bits);
}

inline ulong float_product(const ulong x, const ulong y, const uint precision, const int least, const uint bits) {
  const ulong sign = (ulong)1 << (bits - 1);
  const ulong infinity = infinity_of(precision, least, bits);
  const ulong greater = max(x & (sign - 1), y & (sign - 1));
  const ulong less = min(x & (sign - 1), y & (sign - 1));
  if (greater > infinity || (greater == infinity && less == 0)) return quiet_nan_of(precision, least, bits);
  if (greater == infinity) return ((x ^ y) & sign) | infinity;
  int exponent = 0;
  int other_exponent = 0;
  const ulong mantissa = number_of(greater, precision, least, bits, &exponent);
  const ulong other = number_of(less, precision, least, bits, &other_exponent);
  const ulong high = mul_hi(mantissa, other);
  ulong product = mantissa * other;
  exponent += other_exponent;
  if (high != 0) {
    const uint over = 64 - (uint)clz(high);  // bits, of which the lowest of the others tells
    const ulong lost = product & (((ulong)1 << over) - 1);
    product = high << (64 - over) | product >> over | (lost != 0 ? 1 : 0);
    exponent += (int)over;
  }
  return ((x ^ y) & sign) | rounded_number(product, exponent, precision, least, bits);
}

// base +- step, rounded once: base is a magnitude in units of 2^exponent, the step (high * 2^64 + low) * weight in units of
// 2^step_exponent. At most a few times as great as the base's highest unit times 2^64.
inline ulong exact_step(const bool base_minus, const ulong base, const int exponent, const ulong high, const ulong low,
                        const int step_exponent, const ulong weight, const bool minus, const uint precision,
                        const int least, const uint bits) {
  int bottom = 0;
  const ulong by = number_of(weight, precision, least, bits, &bottom);
  bottom += step_exponent;
  ulong step[4];
  step[0] = low * by;
  step[1] = mul_hi(low, by) + high * by;
  step[2] = mul_hi(high, by) + (step[1] < high * by ? 1 : 0);
  step[3] = 0;
  // 140 bits below the base's lowest are kept, more than a step that cancels it has; the last one stands for all lower bits.
  const int begin = base != 0 ? exponent : bottom;
  ulong lost = 0;
  while (bottom < begin - 140) {
    const uint shift = (uint)min(begin - 140 - bottom, 32);
    lost |= step[0] & (((ulong)1 << shift) - 1);
    for (int i = 0; i < 4; ++i) step[i] = step[i] >> shift | (i < 3 ? step[i + 1] << (64 - shift) : 0);
    bottom += (int)shift;
  }
  step[0] |= lost != 0 ? 1 : 0;
  const uint up = (uint)(begin - bottom);
  const bool adds = base_minus == minus;
  ulong all[4];
  ulong carry = 0;
  for (uint i = 0; i < 4; ++i) {
    const ulong part = i == up / 64 ? base << up % 64 : i == up / 64 + 1 && up % 64 != 0 ? base >> (64 - up % 64) : 0;
    const ulong sum = adds ? part + step[i] : part - step[i];
    const ulong over = (adds ? sum < part : sum > part) ? 1 : 0;
    all[i] = adds ? sum + carry : sum - carry;
    carry = over | ((adds ? all[i] < sum : all[i] > sum) ? 1 : 0);
  }
  const bool turned = !adds && carry != 0;
  for (int i = 0; i < 4 && turned; ++i) {
    all[i] = ~all[i] + carry;
    carry = carry != 0 && all[i] == 0 ? 1 : 0;
  }
  int top = 3;
  while (top > 0 && all[top] == 0) --top;
  ulong mantissa = all[top];
  if (mantissa == 0) return 0;
  bottom += 64 * top;
  if (top > 0) {
    const uint room = (uint)clz(mantissa);
    ulong rest = all[top - 1];
    if (room > 0) mantissa = mantissa << room | rest >> (64 - room);
    rest <<= room;
    for (int i = 0; i < top - 1; ++i) rest |= all[i];
    mantissa |= rest != 0 ? 1 : 0;
    bottom -= (int)room;
  }
  return rounded_number(mantissa, bottom, precision, least, bits) |
         ((turned ? minus : base_minus) ? (ulong)1 << (bits - 1) : 0);
}

#ifdef MASU_ELEMENT_BYTES  // after elements.cl
// An element that is an integer as a double; the format of one that is a float.
#if !MASU_FLOAT
inline bool is_below_zero(const MASU_BITS element) { return MASU_SIGNED && (element & MASU_SIGN) != 0; }
inline ulong magnitude_of(const MASU_BITS element) {
  return is_below_zero(element) ? (0 - (ulong)element) & MASU_ALL_BITS : (ulong)element;
}
inline ulong integer_as_double(const MASU_BITS element) {
  return rounded_number(magnitude_of(element), 0, MASU_DOUBLE_FORMAT) | (is_below_zero(element) ? (ulong)1 << 63 : 0);
}
#else
#define MASU_ELEMENT_FORMAT \
  MASU_FRACTION + 1u, 2 - (1 << (MASU_EXPONENT_BITS - 1)) - MASU_FRACTION, 8u * MASU_ELEMENT_BYTES
#endif

// The mean of two elements, rounded once.

// The format of the mean, and that in which two floats are added.
#if MASU_FLOAT
#define MASU_MEAN MASU_ELEMENT
#define MASU_MEAN_FORMAT MASU_ELEMENT_FORMAT
#else
#define MASU_MEAN ulong
#define MASU_MEAN_FORMAT MASU_DOUBLE_FORMAT
#endif
#if MASU_FLOAT && MASU_ELEMENT_BYTES < 8
#define MASU_SUM_FORMAT MASU_SINGLE_FORMAT
#define MASU_SUM_SIGN 0x80000000UL
#else
#define MASU_SUM_FORMAT MASU_DOUBLE_FORMAT
#define MASU_SUM_SIGN 0x8000000000000000UL
#endif
#define MASU_MEAN_QUIET_NAN ((MASU_MEAN)quiet_nan_of(MASU_MEAN_FORMAT))

// The mean of two ordered elements, neither a NaN; with `one`, the first alone, whose double may be infinite.
inline MASU_MEAN mean_of_two(const MASU_BITS a, const MASU_BITS b, const bool one) {
#if MASU_FLOAT
  if (one) return (MASU_MEAN)((a & (MASU_SIGN - 1)) == 0 ? 0 : a);
  const ulong sign = MASU_SUM_SIGN;
  ulong x = float_as(a, MASU_ELEMENT_FORMAT, MASU_SUM_FORMAT);
  ulong y = float_as(b, MASU_ELEMENT_FORMAT, MASU_SUM_FORMAT);
  const ulong infinity = infinity_of(MASU_SUM_FORMAT);
  ulong sum = float_sum(x, y, MASU_SUM_FORMAT);
  if ((sum & (sign - 1)) == infinity && (x & (sign - 1)) != infinity && (y & (sign - 1)) != infinity) {
    // Both are great, so that their halves are exact.
    const ulong unit = infinity & (0 - infinity);
    return (MASU_MEAN)float_as(float_sum(x - unit, y - unit, MASU_SUM_FORMAT), MASU_SUM_FORMAT, MASU_MEAN_FORMAT);
  }
  const ulong magnitude = sum & (sign - 1);
  if (magnitude == 0) return 0;
  if (magnitude >= infinity) return (MASU_MEAN)float_as(sum, MASU_SUM_FORMAT, MASU_MEAN_FORMAT);
  int exponent = 0;
  const ulong mantissa = number_of(magnitude, MASU_SUM_FORMAT, &exponent);
  const ulong half_of_it = rounded_number(mantissa, exponent - 1, MASU_MEAN_FORMAT);
  return (MASU_MEAN)(half_of_it | ((sum & sign) != 0 ? (ulong)1 << (8 * sizeof(MASU_MEAN) - 1) : 0));
#else
  const ulong x = magnitude_of(a);
  const ulong y = magnitude_of(b);
  const bool minus = is_below_zero(a);
  if (one) return integer_as_double(a);
  // a <= b: of two signs the difference of the magnitudes, else their sum, which has up to 65 bits.
  const bool apart = minus != is_below_zero(b);
  const ulong sum = apart ? max(x, y) - min(x, y) : x + y;
  const bool over = !apart && sum < x;
  const ulong mantissa = over ? (ulong)1 << 63 | sum >> 1 | (sum & 1) : sum;
  const bool below = apart ? x > y : minus;
  return rounded_number(mantissa, over ? 0 : -1, MASU_DOUBLE_FORMAT) | (below && mantissa != 0 ? (ulong)1 << 63 : 0);
#endif
}
#endif

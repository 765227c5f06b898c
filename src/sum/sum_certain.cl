// SPDX-License-Identifier: Apache-2.0
// Results of sums of doubles whose error has a bound: rounded, and whether that is the exact sum's rounding. The device's twin
// of compensated.h. After elements/doubles.cl, sum_number.cl and sum_finish.cl.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#if MASU_FP64
// A finite double's bits in a format of at most 24 bits, rounded to nearest, ties to even; +0 for what rounds to zero.
MASU_INLINE ulong rounded_double(const double x, const uint precision, const int least, const uint bits) {
  const ulong all = as_ulong(x);
#ifdef MASU_CUDA
  if (precision == 24) {
    const uint nearest = as_uint((float)x);
    return nearest << 1 == 0 ? 0 : nearest;
  }
  if (precision == 11) {
    const uint nearest = masu_nearest_half(x);
    return (nearest & 0x7fffU) == 0 ? 0 : nearest;
  }
#endif
  const uint infinity = (1u << (bits - 1)) - (1u << (precision - 1));
  const uint least_normal = (uint)(1022 + least + (int)precision);
  const uint field = min(max((uint)(all >> 52) & 2047u, least_normal), least_normal + (1u << (bits - precision)) - 1);
  // The power of two whose lowest place, as a double, is x's last one in the format: the addition rounds there.
  const double sum = fabs(x) + as_double((ulong)(field + 53 - precision) << 52);
  const uint mantissa = min((uint)as_ulong(sum), 1u << precision);
  const uint found = min(((field - least_normal) << (precision - 1)) + mantissa, infinity);
  return found == 0 ? 0 : found | (uint)(all >> 63) << (bits - 1);
}

// x, or its neighbour towards x + rest if x is even and that lies between both. All numbers between them round to what this
// one does, in formats of at most 51 bits.
MASU_INLINE double to_odd(const double x, const double rest) {
  const ulong bits = as_ulong(x);
  const ulong towards_zero = (bits ^ as_ulong(rest)) >> 63;
  return as_double(rest == 0 || (bits & 1) != 0 ? bits : bits + 1 - 2 * towards_zero);
}

// The double next to a finite one that is not 0: upwards, or downwards.
inline double neighbour(const double x, const bool up) {
  const ulong bits = as_ulong(x);
  return as_double((bits >> 63 == 0) == up ? bits + 1 : bits - 1);
}

// x divided by `count`, at most 2^48, of which `inverse` is the reciprocal: off by less than a place.
MASU_INLINE double quotient_of(const double x, const double count, const double inverse) {
  const double near = x * inverse;
  return fma(fma(-near, count, x), inverse, near);
}

// sum + error + d, |d| <= bound, divided by `count`, at most 2^48, and rounded to a double; whether it is certain.
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
    // Where nothing was rounded, a tie: as far from q as from its neighbour, both gaps of which are the same.
    double whole = exact;
    if (add_exactly(&whole, error) == 0 && bound == 0 && fabs(whole) == half_gap * count &&
        (as_ulong(size) & 0xfffffffffffffUL) != 0) {
      *found = as_ulong((as_ulong(q) & 1) == 0 ? q : neighbour(q, whole > 0));
      return true;
    }
    q = neighbour(q, rest > 0);
  }
  return false;
}

// An exact sum, 0 or from 2^-900 on, divided and rounded once.
MASU_INLINE ulong rounded_quotient(const double sum, const ulong divisor, const uint precision, const int least,
                                   const uint bits) {
  if (divisor <= 1) return rounded_double(sum, precision, least, bits);
  const double count = (double)divisor;
  const double value = quotient_of(sum, count, 1 / count);
  return rounded_double(to_odd(value, fma(-value, count, sum)), precision, least, bits);
}

// The root of the positive sum + rest + d, |d| <= bound, rounded to a double; whether it is certain.
inline bool certain_root(const double sum, const double rest, const double bound, ulong *found) {
  if (!(sum >= as_double(0x07b0000000000000UL) && sum <= as_double(0x7e70000000000000UL))) return false;
  // (r + h)^2 is r^2 + 2 r h and next to nothing, h half of the gap to r's neighbour.
  double r = sqrt(sum);  // a neighbour may be right
  for (int attempt = 0; attempt < 2; ++attempt) {
    const double over = fma(-r, r, sum);
    const double off = over + rest;
    *found = as_ulong(r);
    if (fabs(off) + bound + (fabs(over) + fabs(rest)) * 0x1p-50 < r * (r - neighbour(r, false)) * (1 - 0x1p-50)) {
      return true;
    }
    r = neighbour(r, off > 0);
  }
  return false;
}

// The number sum + error + d, |d| <= bound: what `what`, as sum_finish.cl has it, makes of it; whether it is certain.
inline bool certain(double sum, const double error, const double bound, const uint what, const ulong divisor,
                    const uint precision, const int least, const uint bits, ulong *found) {
  const double greatest = as_double(0x7e70000000000000UL);  // 2^1000
  if (!(fabs(sum) <= greatest && fabs(error) <= greatest && bound <= greatest)) return false;
  const double rest = error == 0 ? 0 : add_exactly(&sum, error);
  const bool exact = bound == 0 && rest == 0;
  *found = 0;
  if (exact && sum == 0) return true;
  const double count = (double)divisor;
  if (MASU_FINE) {  // results have 64 bits
    if (what == SUM_AS_ROOT) return certain_root(sum, rest, bound, found);
    // By powers of two nothing is rounded, but for the least numbers.
    const double scaled = sum / count;
    // Not by the usual test, of which compilers make a population count, that Oclgrind lacks.
    const bool exponent_only =
        divisor << clz(divisor) == 1UL << 63 && fabs(scaled) >= as_double(0x07b0000000000000UL);
    if (divisor > 1 && !exponent_only) return certain_quotient(sum, rest, bound, count, found);
    // Wider by what the two additions below round.
    const double wide = bound == 0 ? 0 : bound + (fabs(rest) + bound) * 0x1p-50;
    *found = as_ulong(divisor > 1 ? scaled : sum);
    return bound == 0 || (sum + (rest + wide) == sum && sum + (rest - wide) == sum);
  }
  const bool root = MASU_INPUTS != 1 && what == SUM_AS_ROOT;
  if (exact && !root && (divisor <= 1 || fabs(sum) >= as_double(0x07b0000000000000UL))) {  // 2^-900
    *found = rounded_quotient(sum, divisor, precision, least, bits);
    return true;
  }
  double value = divisor > 1 ? sum / count : sum;
  double share = divisor > 1 ? 1 / count : 1;
  if (root) {
    value = sqrt(sum);
    if (exact && sum >= as_double(0x07b0000000000000UL)) {
      *found = rounded_double(to_odd(value, fma(-value, value, sum)), precision, least, bits);
      return true;
    }
    share = 0.5625 / value;  // above half, as far as the bound is a quarter of the sum
  }
  const double wide = (bound + fabs(rest)) * (1 + 0x1p-50) + fabs(sum) * 0x1p-51 + as_double((ulong)16);
  if (root && !(wide <= sum / 4)) return false;
  const double off = (wide * share + fabs(value) * 0x1p-51) * (1 + 0x1p-50) + as_double((ulong)16);
  *found = rounded_double(value - off, precision, least, bits);
  // A sum so close to zero that it rounds to one is not known.
  return *found != 0 && *found == rounded_double(value + off, precision, least, bits);
}

// The variance `value`, off by less than a place from (numerator + rest) / divisor if that is exact, and else by `share` of
// itself; or its root. Whether its rounding is certain.
MASU_INLINE bool rounded_variance(double value, const double numerator, const double rest, const double divisor,
                                  const bool exact, const double share, const bool root, const uint precision,
                                  const int least, const uint bits, ulong *found) {
  double left = fma(-value, divisor, numerator) + rest;
  if (root) {
    value = sqrt(value);
    const double square = value * value;
    left = fma(-divisor, fma(value, value, -square), fma(-square, divisor, numerator)) + rest;
  }
  const double off = exact ? 0 : value * share;
  *found = rounded_double((exact ? to_odd(value, left) : value) - off, precision, least, bits);
  return exact || (*found != 0 && *found == rounded_double(value + off, precision, least, bits));
}

// The positive numerator + rest + d, |d| <= bound, divided by `count` and `divisor`, is value + more, off by at most `wide`; whether
// that is so.
inline bool divided_twice(const double numerator, const double rest, const double bound, const double count,
                          const double divisor, double *value, double *more, double *wide) {
  const double all = count * divisor;
  const double inverse = 1 / all;
  // What a quotient that is off by less than a place leaves of its dividend is exact.
  *value = quotient_of(numerator, all, inverse);
  const double left = fma(-*value, all, numerator);
  const double beside = *value * fma(count, divisor, -all);
  const double second = (left + (rest - beside)) * inverse;
  *wide = (bound + (fabs(left) + fabs(rest) + fabs(beside)) * 0x1p-50) * inverse * (1 + 0x1p-40) + fabs(second) * 0x1p-50;
  *more = add_exactly(value, second);
  return *value >= as_double(0x07b0000000000000UL) && *value <= as_double(0x7e70000000000000UL);
}

// The number value + more + d, |d| <= bound, or its root, rounded to a double; whether it is certain.
inline bool certain_double(const double value, const double more, const double bound, const bool root, ulong *found) {
  if (root) return certain_root(value, more, bound, found);
  *found = as_ulong(value);
  return fabs(more) + bound < (value - neighbour(value, false)) / 2 * (1 - 0x1p-50);
}

// The number square_sum + square_error + e, |e| <= square_bound, times n, less the square of sum + error + d, |d| <= bound;
// divided by n (n - ddof); whether its rounding, or that of its root, is certain.
inline bool certain_fine_variance(const double sum, const double error, const double bound, const double square_sum,
                                  const double square_error, const double square_bound, const ulong n, const ulong ddof,
                                  const bool root, const uint precision, const int least, const uint bits,
                                  ulong *found) {
  if (n >> 53 != 0) return false;
  const double count = (double)n;
  const double divisor = (double)(n - ddof);
  const double upper = count * square_sum;
  const double upper_rest = fma(count, square_sum, -upper) + count * square_error;
  const double lower = sum * sum;
  const double lower_rest = fma(sum, sum, -lower) + 2 * sum * error;
  double numerator = upper;
  const double rounding = add_exactly(&numerator, -lower);
  const double rest = rounding + (upper_rest - lower_rest);
  const double off = fabs(error) + bound;
  const double wide = count * square_bound + 2 * fabs(sum) * bound + off * off +
                      (fabs(rounding) + fabs(upper_rest) + fabs(lower_rest) + count * fabs(square_error) +
                       2 * fabs(sum * error)) * 0x1p-49;
  double value;
  double more;
  double all_wide;
  if (!divided_twice(numerator, rest, wide, count, divisor, &value, &more, &all_wide)) return false;
  if (!MASU_FINE) {
    double left = more;
    if (root) {
      const double square = value;
      value = sqrt(square);
      left += fma(-value, value, square);
    }
    *found = rounded_double(to_odd(value, left), precision, least, bits);
    return all_wide == 0 || fabs(left) > all_wide + fabs(more) * 0x1p-50;
  }
  if (certain_double(value, more, all_wide, root, found)) return true;
  if (root) return false;
  const double half_gap = (value - neighbour(value, false)) / 2;
  // A tie, where nothing was rounded: the numerator is, with its parts, the divisors times the value and half of its gap.
  const bool exact = bound == 0 && square_bound == 0 && error == 0 && n >> 26 == 0 &&
                     (as_ulong(value) & 0xfffffffffffffUL) != 0;
  const double middle = more < 0 ? -half_gap : half_gap;
  const double all = count * divisor;
  const double multiple = value * all;
  const double square_rest = count * square_error;
  const double parts[] = {-multiple,
                          -middle * all,
                          rounding,
                          fma(count, square_sum, -upper),
                          square_rest,
                          -fma(sum, sum, -lower),
                          -fma(value, all, -multiple)};
  double beside = 0;
  double lost = fabs(fma(count, square_error, -square_rest));
  for (int i = 0; i < 7; ++i) lost += fabs(add_exactly(&beside, add_exactly(&numerator, parts[i])));
  if (!exact || lost != 0 || numerator + beside != 0) return false;
  if ((as_ulong(value) & 1) != 0) *found = as_ulong(neighbour(value, middle > 0));
  return true;
}
#endif

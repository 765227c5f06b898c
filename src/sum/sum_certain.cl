// SPDX-License-Identifier: Apache-2.0
// Results of sums of doubles whose error has a bound: rounded, and whether that is the exact sum's rounding. The device's twin
// of compensated.h. After sum_number.cl and sum_finish.cl.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

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

// The bits of a finite double that is a subnormal number, or less, in a format of at most 53 bits, less its sign; rounded as below.
MASU_NOINLINE ulong rounded_small(const ulong all, const uint precision, const int least) {
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
  return format_bits(mantissa, low + exponent, precision, least);
}

// A finite double's bits in a format of at most 53 bits, rounded to nearest, ties to even; +0 for what rounds to zero.
inline ulong rounded_double(const double x, const uint precision, const int least, const uint bits) {
  const ulong all = as_ulong(x);
  if (bits == 64) return all << 1 == 0 ? 0 : all;
  // Devices convert to normal f32 likewise; what they do with smaller ones differs.
  if (precision == 24 && fabs(x) >= as_double(0x3810000000000000UL)) return as_uint((float)x);  // 2^-126
  const uint field = (uint)(all >> 52) & 2047u;
  const ulong infinity = ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
  const ulong sign = (all >> 63) << (bits - 1);
  const int least_normal = 1022 + least + (int)precision;
  if ((int)field >= least_normal) {
    const uint cut = 53 - precision;
    const ulong magnitude = all & ULONG_MAX >> 1;
    const ulong nearest = (magnitude + ((ulong)1 << (cut - 1)) - 1 + (magnitude >> cut & 1)) >> cut;
    return min(nearest - ((ulong)(least_normal - 1) << (precision - 1)), infinity) | sign;
  }
  const ulong found = rounded_small(all, precision, least);
  return found == 0 ? 0 : found | sign;
}

// The double next to a finite one that is not 0: upwards, or downwards.
inline double neighbour(const double x, const bool up) {
  const ulong bits = as_ulong(x);
  return as_double((bits >> 63 == 0) == up ? bits + 1 : bits - 1);
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
  if (bits == 64) {
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
  const bool plain = divisor <= 1 && what != SUM_AS_ROOT;
  if (exact && plain) {
    *found = rounded_double(sum, precision, least, bits);
    return true;
  }
  if (exact && fabs(sum) >= as_double(0x07b0000000000000UL)) {
    // A quotient or a root that is a double is known. All ties are such ones.
    const double value = what == SUM_AS_ROOT ? sqrt(sum) : sum / count;
    const bool known = fma(-value, what == SUM_AS_ROOT ? value : count, sum) == 0;
    const double off = known ? 0 : value * 0x1p-51;
    *found = rounded_double(value - off, precision, least, bits);
    return known || (*found != 0 && *found == rounded_double(value + off, precision, least, bits));
  }
  const double wide = (bound + fabs(rest)) * (1 + 0x1p-50) + fabs(sum) * 0x1p-51 + as_double((ulong)16);
  double low = sum - wide;
  double high = sum + wide;
  if (!plain) {
    if (what == SUM_AS_ROOT) {
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
  const double tiny = as_double(0x07b0000000000000UL);  // 2^-900
  const double count = (double)n;
  const double upper = count * square_sum;
  const double lower = sum * sum;
  double numerator = upper;
  const double lost = fabs(add_exactly(&numerator, -lower)) + fabs(fma(count, square_sum, -upper)) +
                      fabs(fma(sum, sum, -lower));
  const double wide = (count * square_bound + 2 * fabs(sum) * bound + bound * bound + lost) * (1 + 0x1p-50);
  bool exact = wide == 0 && n >> 26 == 0 && (sum == 0 || lower >= tiny);
  *found = 0;
  if (exact && numerator == 0) return true;
  const double divisor = count * (double)(n - ddof);
  double value = numerator / divisor;
  if (!(value >= tiny && value <= as_double(0x7e70000000000000UL)) || wide > numerator / 4) return false;
  exact = exact && fma(-value, divisor, numerator) == 0;
  if (root) {
    const double square = value;
    value = sqrt(square);
    exact = exact && fma(-value, value, square) == 0;
  }
  // A variance that is a double, or whose root is, is known. All ties are such ones.
  const double share = wide == 0 ? 0x1p-50 : 2 * wide / numerator + 0x1p-50;
  const double off = exact ? 0 : value * share;
  *found = rounded_double(value - off, precision, least, bits);
  return exact || (*found != 0 && *found == rounded_double(value + off, precision, least, bits));
}

// The same to the bits of a double, of sums that are sum + error + d, |d| <= bound.
inline bool certain_fine_variance(const double sum, const double error, const double bound, const double square_sum,
                                  const double square_error, const double square_bound, const ulong n, const ulong ddof,
                                  const bool root, ulong *found) {
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
  // Divided twice; what a quotient leaves of its dividend is exact.
  const double first = numerator / count;
  const double left = fma(-first, count, numerator);
  const double first_rest = (left + rest) / count;
  const double first_wide = (wide + (fabs(left) + fabs(rest)) * 0x1p-50) / count;
  double value = first / divisor;
  const double second_left = fma(-value, divisor, first);
  const double second_rest = (second_left + first_rest) / divisor;
  const double all_wide =
      (first_wide + (fabs(second_left) + fabs(first_rest)) * 0x1p-50) / divisor * (1 + 0x1p-40) + fabs(second_rest) * 0x1p-50;
  const double more = add_exactly(&value, second_rest);
  *found = as_ulong(value);
  if (!(value >= as_double(0x07b0000000000000UL) && value <= as_double(0x7e70000000000000UL))) return false;
  if (root) return certain_root(value, more, all_wide, found);
  const double half_gap = (value - neighbour(value, false)) / 2;
  if (fabs(more) + all_wide < half_gap * (1 - 0x1p-50)) return true;
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

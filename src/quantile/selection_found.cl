// SPDX-License-Identifier: Apache-2.0
// Results from elements that have been found, or that stand in sorted rows, or in rows of few, of which a work-item finds them:
// elements, what lies between two, medians. Behind elements.cl, order.cl and soft_float.cl. kernels.md has the parameters, which selection_device.cpp gives.

// What a quantile is; `weight` is a float of the result's format.
#define QUANTILE_POINT_ELEMENT 0u   // the first element
#define QUANTILE_POINT_PREVIOUS 1u  // first + (second - first) * weight
#define QUANTILE_POINT_NEXT 2u      // second - (second - first) * weight
#define QUANTILE_POINT_MEAN 3u      // the mean of both, as a median is
#define QUANTILE_OF_POINT(i, name) (i == 0 ? name##0 : i == 1 ? name##1 : i == 2 ? name##2 : name##3)
#define QUANTILE_NO_PLACE (~(ulong)0)

#define QUANTILE_FORMAT const uint precision, const int least, const uint bits
#define QUANTILE_OF_FORMAT precision, least, bits
inline bool is_nan(const MASU_BITS element) {
#if MASU_FLOAT
  return (element & (MASU_SIGN - 1)) > MASU_INFINITY_BITS;
#else
  return false;
#endif
}

// Floats that NumPy lacks are computed with as f32, the values that they are; so are results in such a dtype.
#if MASU_WIDENED
#define QUANTILE_WIDENED(element) as_uint(masu_stored_value(element))
#define QUANTILE_SIGN 0x80000000U
#define QUANTILE_ELEMENT_FORMAT MASU_SINGLE_FORMAT
#else
#define QUANTILE_WIDENED(element) (element)
#define QUANTILE_SIGN MASU_SIGN
#define QUANTILE_ELEMENT_FORMAT MASU_ELEMENT_FORMAT
#endif
#define QUANTILE_IS_WIDER(precision) (((ulong)MASU_WIDENED_PRECISIONS >> (precision) & 1) != 0)
#define QUANTILE_WIDER_FORMAT                              \
  QUANTILE_IS_WIDER(precision) ? 24u : precision,          \
      QUANTILE_IS_WIDER(precision) ? -149 : least, QUANTILE_IS_WIDER(precision) ? 32u : bits

inline ulong element_as_float(const MASU_BITS element, QUANTILE_FORMAT) {
#if MASU_FLOAT
  return float_as(QUANTILE_WIDENED(element), QUANTILE_ELEMENT_FORMAT, QUANTILE_OF_FORMAT);
#else
  return float_as(integer_as_double(element), MASU_DOUBLE_FORMAT, QUANTILE_OF_FORMAT);
#endif
}

#if !MASU_FLOAT
// Whether a format holds an integer exactly.
inline bool has_integer(const ulong magnitude, QUANTILE_FORMAT) {
  if (magnitude == 0) return true;
  return magnitude / (magnitude & (0 - magnitude)) >> precision == 0 && (least + (int)precision <= -61 || magnitude >> (3 - least - (int)precision) == 0);
}
#endif

// The number between a and b, which are not NaN, by the rule in the public header.
inline ulong between(const MASU_BITS a, const MASU_BITS b, const ulong weight, const uint what, QUANTILE_FORMAT) {
  const bool from_next = what == QUANTILE_POINT_NEXT;
  const ulong sign = (ulong)1 << (bits - 1);
  const ulong infinity = infinity_of(QUANTILE_OF_FORMAT);
  const ulong x = element_as_float(a, QUANTILE_OF_FORMAT);
  const ulong y = element_as_float(b, QUANTILE_OF_FORMAT);
#if MASU_FLOAT
  const bool x_infinite = (x & (sign - 1)) == infinity;
  const bool y_infinite = (y & (sign - 1)) == infinity;
  if (x_infinite || y_infinite) {
    if (x == y || (weight & (sign - 1)) == 0) return from_next ? y : x;
    return x_infinite && y_infinite ? quiet_nan_of(QUANTILE_OF_FORMAT) : x_infinite ? x : y;
  }
  const ulong difference =
      float_as(float_sum(QUANTILE_WIDENED(b), QUANTILE_WIDENED(a) ^ QUANTILE_SIGN, QUANTILE_ELEMENT_FORMAT),
               QUANTILE_ELEMENT_FORMAT, QUANTILE_OF_FORMAT);
  const bool fits = difference != infinity;
#else
  const ulong step = (b - a) & MASU_ALL_BITS;
  const ulong difference = float_as(rounded_number(step, 0, MASU_DOUBLE_FORMAT), MASU_DOUBLE_FORMAT, QUANTILE_OF_FORMAT);
  const bool fits = (!MASU_SIGNED || (step & MASU_SIGN) == 0) && has_integer(step, QUANTILE_OF_FORMAT) &&
                    has_integer(magnitude_of(a), QUANTILE_OF_FORMAT) && has_integer(magnitude_of(b), QUANTILE_OF_FORMAT);
#endif
  if (fits) {
    const ulong product = float_product(difference, weight, QUANTILE_OF_FORMAT);
    return from_next ? float_sum(y, product ^ sign, QUANTILE_OF_FORMAT) : float_sum(x, product, QUANTILE_OF_FORMAT);
  }
  if ((weight & (sign - 1)) == 0 || a == b) return from_next ? y : x;
#if MASU_FLOAT
  // Far apart, on both sides of zero.
  int less_exponent = 0;
  int more_exponent = 0;
  const ulong less = number_of(QUANTILE_WIDENED(a) & (QUANTILE_SIGN - 1), QUANTILE_ELEMENT_FORMAT, &less_exponent);
  const ulong more = number_of(QUANTILE_WIDENED(b) & (QUANTILE_SIGN - 1), QUANTILE_ELEMENT_FORMAT, &more_exponent);
  const int exponent = min(less_exponent, more_exponent);
  const uint up = (uint)(max(less_exponent, more_exponent) - exponent);
  const ulong upper = less_exponent > more_exponent ? less : more;
  const ulong lower = less_exponent > more_exponent ? more : less;
  const ulong low = (up < 64 ? upper << up : 0) + lower;
  ulong high = low < lower ? 1 : 0;
  if (up > 0) high += up < 64 ? upper >> (64 - up) : upper << (up - 64);
  return exact_step(!from_next, from_next ? more : less, from_next ? more_exponent : less_exponent, high, low, exponent,
                    weight, from_next, QUANTILE_OF_FORMAT);
#else
  const MASU_BITS base = from_next ? b : a;
  return exact_step(is_below_zero(base), magnitude_of(base), 0, 0, step, 0, weight, from_next, QUANTILE_OF_FORMAT);
#endif
}

inline void set_result(__global uchar* results, const ulong i, const uint bytes, const ulong value) {
  switch (bytes) {
    case 1: results[i] = (uchar)value; break;
    case 2: ((__global ushort*)results)[i] = (ushort)value; break;
    case 4: ((__global uint*)results)[i] = (uint)value; break;
    default: ((__global ulong*)results)[i] = value; break;
  }
}

#if MASU_FEW
// The elements of a row, `between` apart, and the places that they take in its stable order, NaNs last: those that a work-item has
// room for, which may be more, come after.
MASU_INLINE void hold_row(__global const uchar* row, const size_t between, const uint count, MASU_BITS* held, uint* places) {
  MASU_BITS keys[MASU_FEW];
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_FEW; ++i) {
    held[i] = element_at(row, (i < count ? i : 0) * between);
    keys[i] = i < count ? ordered_key(held[i]) : MASU_ALL_BITS;
    places[i] = MASU_FEW - 1 - i;
  }
  MASU_PRAGMA_UNROLL
  for (uint i = 1; i < MASU_FEW; ++i) {
    MASU_PRAGMA_UNROLL
    for (uint j = 0; j < i; ++j) {
      const uint comes_first = keys[j] <= keys[i] ? 1 : 0;
      places[i] += comes_first;
      places[j] -= comes_first;
    }
  }
}
MASU_INLINE MASU_BITS held_at(const MASU_BITS* held, const uint* places, const uint place) {
  MASU_BITS found = 0;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_FEW; ++i) found = places[i] == place ? held[i] : found;
  return found;
}
#define QUANTILE_ROW                  \
  MASU_BITS held[MASU_FEW];           \
  uint places[MASU_FEW];              \
  hold_row(row, (size_t)columns, (uint)stride, held, places);
#define QUANTILE_AT(place) held_at(held, places, (uint)(place))
#else
#define QUANTILE_ROW
#define QUANTILE_AT(place) element_at(row, place)
#endif

#if MASU_NUMBERS
#define QUANTILE_ONE 0x3ff0000000000000UL
#define QUANTILE_HALF_OF_ONE 0x3fe0000000000000UL
#define QUANTILE_MINUS 0x8000000000000000UL

// As in the public header.
#define method_inverted_cdf 0u
#define method_averaged_inverted_cdf 1u
#define method_closest_observation 2u
#define method_linear 6u
#define method_lower 9u
#define method_higher 10u
#define method_midpoint 11u
#define method_nearest 12u
#define method_median 13u

inline ulong sum_of_doubles(const ulong x, const ulong y) {
  return float_sum(x, y, MASU_DOUBLE_FORMAT);
}
inline ulong double_of(const ulong x) {
  return rounded_number(x, 0, MASU_DOUBLE_FORMAT);
}

// The greatest integer that is no greater than a finite double below 2^63, and what is more than it.
inline long floor_of_double(const ulong x, ulong* more) {
  int exponent = 0;
  const ulong mantissa = number_of(x & (QUANTILE_MINUS - 1), MASU_DOUBLE_FORMAT, &exponent);
  const ulong whole = exponent >= 0 ? mantissa << exponent : exponent > -64 ? mantissa >> -exponent : 0;
  const bool exact = exponent >= 0 || (exponent > -64 ? (whole << -exponent) == mantissa : mantissa == 0);
  long result = (long)whole;
  if ((x & QUANTILE_MINUS) != 0) result = -result - (exact ? 0 : 1);
  const ulong magnitude = double_of((ulong)(result < 0 ? -result : result));
  *more = exact ? 0 : sum_of_doubles(x, result < 0 ? magnitude : magnitude | QUANTILE_MINUS);
  return result;
}

// Where a quantile lies among n numbers: what it is, its two places, and its weight, a double. `offset`: of Hyndman
// and Fan's methods, alpha + q * (1 - alpha - beta).
inline uint point_among(const uint method, const ulong n, const ulong q, const ulong offset, ulong* first,
                        ulong* second, ulong* weight) {
  *weight = 0;
  if (method == method_median) {
    *first = (n - 1) / 2;
    *second = n / 2;
    return QUANTILE_POINT_MEAN;
  }
  const bool spread = method == method_linear || method >= method_lower;
  ulong index = float_product(double_of(spread ? n - 1 : n), q, MASU_DOUBLE_FORMAT);
  if (method <= method_closest_observation) {
    index = sum_of_doubles(index, QUANTILE_ONE | QUANTILE_MINUS);
    if (method == method_closest_observation) index = sum_of_doubles(index, QUANTILE_HALF_OF_ONE | QUANTILE_MINUS);
  } else if (!spread) {
    index = sum_of_doubles(sum_of_doubles(index, offset), QUANTILE_ONE | QUANTILE_MINUS);
  }
  ulong more = 0;
  long place = floor_of_double(index, &more);
  if (method == method_inverted_cdf || method == method_closest_observation || method == method_lower ||
      method == method_higher || method == method_nearest) {
    bool here = more == 0;
    if (method == method_lower) here = true;
    if (method == method_closest_observation) here = here && (place & 1) != 0;
    if (method == method_nearest) here = more < QUANTILE_HALF_OF_ONE || (more == QUANTILE_HALF_OF_ONE && (place & 1) == 0);
    if (!here) ++place;
    *first = place > 0 ? (ulong)place : 0;
    *second = *first;
    return QUANTILE_POINT_ELEMENT;
  }
  ulong part = more;
  if (place >= (long)(n - 1)) {
    *first = n - 1;
    *second = n - 1;
    part = sum_of_doubles(index, QUANTILE_ONE);
  } else if (place < 0) {
    *first = 0;
    *second = 0;
    part = index;
  } else {
    *first = (ulong)place;
    *second = (ulong)place + 1;
  }
  if (method == method_averaged_inverted_cdf) part = (part & (QUANTILE_MINUS - 1)) == 0 ? QUANTILE_HALF_OF_ONE : QUANTILE_ONE;
  if (method == method_midpoint) part = more == 0 ? 0 : QUANTILE_HALF_OF_ONE;
  const bool from_second = (part & QUANTILE_MINUS) == 0 && part >= QUANTILE_HALF_OF_ONE;
  *weight = from_second ? sum_of_doubles(QUANTILE_ONE, part ^ QUANTILE_MINUS) : part;
  return from_second ? QUANTILE_POINT_NEXT : QUANTILE_POINT_PREVIOUS;
}

// A quantile, and of Hyndman and Fan's methods alpha + q * (1 - alpha - beta): doubles.
#define QUANTILE_POINT(i) const ulong q##i, const ulong offset##i
#define QUANTILE_POINTS const uint method, QUANTILE_POINT(0), QUANTILE_POINT(1), QUANTILE_POINT(2), QUANTILE_POINT(3)

#else

// Where in a row a NaN stands if the row has any, and the points.
#define QUANTILE_POINT(i) const ulong first##i, const ulong second##i, const ulong weight##i, const uint what##i
#define QUANTILE_POINTS const ulong nan_at, QUANTILE_POINT(0), QUANTILE_POINT(1), QUANTILE_POINT(2), QUANTILE_POINT(3)

#endif

// Up to four quantiles, elements or medians of each row, of which there are `stride` elements; rows of few may be the columns of
// matrices of so many `columns`, else these are 1. A result lies `by_row` after that of
// the row before, and `by_point` after that of the point before. `plain`: elements are not converted to the result's dtype,
// they have it; a NaN becomes the quiet one.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_points(__global const uchar* data, const ulong byte_offset,
                                                           const ulong stride, const ulong rows, const ulong columns,
                                                           __global uchar* results, const ulong results_at,
                                                           const ulong by_row, const ulong by_point,
                                                           QUANTILE_FORMAT, const uint plain, const uint number,
                                                           QUANTILE_POINTS) {
  for (ulong i = get_global_id(0); i < rows * number; i += get_global_size(0)) {
    const uint which = number == 1 ? 0 : (uint)(i / rows);  // of many rows a division is most of the time
    const ulong r = i - which * rows;
    const ulong begin = columns == 1 ? r * stride : r + r / columns * (stride - 1) * columns;
    __global const uchar* row = data + byte_offset + begin * MASU_ELEMENT_BYTES;
    QUANTILE_ROW
#if MASU_NUMBERS
    ulong n = 0;  // that are no NaN
    for (ulong end = stride; n < end;) {
      const ulong middle = n + (end - n) / 2;
      if (is_nan(QUANTILE_AT(middle))) end = middle;
      else n = middle + 1;
    }
    const bool nan = n == 0;
    ulong first = 0;
    ulong second = 0;
    ulong weight = 0;
    uint what = QUANTILE_POINT_ELEMENT;
    if (!nan) {
      what = point_among(method, n, QUANTILE_OF_POINT(which, q), QUANTILE_OF_POINT(which, offset), &first, &second, &weight);
      weight = float_as(weight, MASU_DOUBLE_FORMAT, QUANTILE_WIDER_FORMAT);
    }
#else
    const bool nan = nan_at != QUANTILE_NO_PLACE && is_nan(QUANTILE_AT(nan_at));
    const ulong first = QUANTILE_OF_POINT(which, first);
    const ulong second = QUANTILE_OF_POINT(which, second);
    const ulong weight = QUANTILE_OF_POINT(which, weight);
    const uint what = QUANTILE_OF_POINT(which, what);
#endif
    ulong value = quiet_nan_of(QUANTILE_OF_FORMAT);
    if (!nan) {
      const MASU_BITS a = QUANTILE_AT(first);
      const MASU_BITS b = QUANTILE_AT(second);
      const bool as_it_is = what == QUANTILE_POINT_MEAN || (what == QUANTILE_POINT_ELEMENT && plain != 0 && !is_nan(a));
      const ulong x = as_it_is ? a : element_as_float(a, QUANTILE_OF_FORMAT);
      const bool minus = x == (ulong)1 << (bits - 1);  // zeros with a sign go by the formula
      if (what == QUANTILE_POINT_MEAN) {
        value = mean_of_two(a, b, first == second);
      } else if (what == QUANTILE_POINT_ELEMENT || (a == b && !minus)) {
        value = x;
      } else {
        value = between(a, b, weight, what, QUANTILE_WIDER_FORMAT);
        if (QUANTILE_IS_WIDER(precision)) value = float_as(value, MASU_SINGLE_FORMAT, QUANTILE_OF_FORMAT);
      }
    }
    set_result(results + results_at, which * by_point + r * by_row, bits / 8, value);
  }
}

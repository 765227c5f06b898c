// SPDX-License-Identifier: Apache-2.0
// Medians and quantiles of what is no NaN in sorted rows of floats. Behind soft_float.cl and selection_between.cl.

#define MASU_ONE 0x3ff0000000000000UL
#define MASU_HALF_OF_ONE 0x3fe0000000000000UL
#define MASU_MINUS 0x8000000000000000UL

// As in the public header.
#define method_inverted_cdf 0u
#define method_averaged_inverted_cdf 1u
#define method_closest_observation 2u
#define method_linear 6u
#define method_lower 9u
#define method_higher 10u
#define method_midpoint 11u
#define method_nearest 12u

inline ulong sum_of_doubles(const ulong x, const ulong y) {
  return float_sum(x, y, MASU_DOUBLE_FORMAT);
}
inline ulong double_of(const ulong x) {
  return rounded_number(x, 0, MASU_DOUBLE_FORMAT);
}

// How many elements of a sorted row are no NaN.
inline ulong numbers_in(__global const uchar* row, const ulong count) {
  ulong low = 0;
  ulong high = count;
  while (low < high) {
    const ulong middle = low + (high - low) / 2;
    if ((element_at(row, middle) & (MASU_SIGN - 1)) > MASU_INFINITY_BITS) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The greatest integer that is no greater than a finite double below 2^63, and what is more than it.
inline long floor_of_double(const ulong x, ulong* more) {
  int exponent = 0;
  const ulong mantissa = number_of(x & (MASU_MINUS - 1), MASU_DOUBLE_FORMAT, &exponent);
  const ulong whole = exponent >= 0 ? mantissa << exponent : exponent > -64 ? mantissa >> -exponent : 0;
  const bool exact = exponent >= 0 || (exponent > -64 ? (whole << -exponent) == mantissa : mantissa == 0);
  long result = (long)whole;
  if ((x & MASU_MINUS) != 0) result = -result - (exact ? 0 : 1);
  const ulong magnitude = double_of((ulong)(result < 0 ? -result : result));
  *more = exact ? 0 : sum_of_doubles(x, result < 0 ? magnitude : magnitude | MASU_MINUS);
  return result;
}

// Where a quantile lies among n numbers: what it is, its two places, and its weight, a double. `offset`: of Hyndman
// and Fan's methods, alpha + q * (1 - alpha - beta).
inline uint point_among(const uint method, const ulong n, const ulong q, const ulong offset, ulong* first,
                        ulong* second, ulong* weight) {
  const bool spread = method == method_linear || method >= method_lower;
  ulong index = float_product(double_of(spread ? n - 1 : n), q, MASU_DOUBLE_FORMAT);
  if (method <= method_closest_observation) {
    index = sum_of_doubles(index, MASU_ONE | MASU_MINUS);
    if (method == method_closest_observation) index = sum_of_doubles(index, MASU_HALF_OF_ONE | MASU_MINUS);
  } else if (!spread) {
    index = sum_of_doubles(sum_of_doubles(index, offset), MASU_ONE | MASU_MINUS);
  }
  ulong more = 0;
  long place = floor_of_double(index, &more);
  *weight = 0;
  if (method == method_inverted_cdf || method == method_closest_observation || method == method_lower ||
      method == method_higher || method == method_nearest) {
    bool here = more == 0;
    if (method == method_lower) here = true;
    if (method == method_closest_observation) here = here && (place & 1) != 0;
    if (method == method_nearest) here = more < MASU_HALF_OF_ONE || (more == MASU_HALF_OF_ONE && (place & 1) == 0);
    if (!here) ++place;
    *first = place > 0 ? (ulong)place : 0;
    *second = *first;
    return MASU_POINT_ELEMENT;
  }
  ulong part = more;
  if (place >= (long)(n - 1)) {
    *first = n - 1;
    *second = n - 1;
    part = sum_of_doubles(index, MASU_ONE);
  } else if (place < 0) {
    *first = 0;
    *second = 0;
    part = index;
  } else {
    *first = (ulong)place;
    *second = (ulong)place + 1;
  }
  if (method == method_averaged_inverted_cdf) part = (part & (MASU_MINUS - 1)) == 0 ? MASU_HALF_OF_ONE : MASU_ONE;
  if (method == method_midpoint) part = more == 0 ? 0 : MASU_HALF_OF_ONE;
  const bool from_second = (part & MASU_MINUS) == 0 && part >= MASU_HALF_OF_ONE;
  *weight = from_second ? sum_of_doubles(MASU_ONE, part ^ MASU_MINUS) : part;
  return from_second ? MASU_POINT_NEXT : MASU_POINT_PREVIOUS;
}

__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_number_medians(__global const uchar* data, const ulong byte_offset,
                                                                   const ulong count, const ulong rows,
                                                                   __global uchar* results, const ulong results_at) {
  __global MASU_MEAN* means = (__global MASU_MEAN*)(results + results_at);
  for (ulong i = get_global_id(0); i < rows; i += get_global_size(0)) {
    __global const uchar* row = data + byte_offset + i * count * MASU_ELEMENT_BYTES;
    const ulong n = numbers_in(row, count);
    if (n == 0) {
      means[i] = MASU_MEAN_QUIET_NAN;
    } else {
      means[i] = mean_of_two(element_at(row, (n - 1) / 2), element_at(row, n / 2), n % 2 == 1);
    }
  }
}

// Up to four quantiles of each row; results are a row for each quantile.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_number_points(
    __global const uchar* data, const ulong byte_offset, const ulong count, const ulong rows, const uint method,
    __global uchar* results, const ulong results_at, const uint result_bytes, const uint plain, const uint number,
    const ulong q0, const ulong q1, const ulong q2, const ulong q3, const ulong offset0, const ulong offset1,
    const ulong offset2, const ulong offset3) {
  MASU_SET_FORMAT(result_bytes)
  for (ulong i = get_global_id(0); i < rows * number; i += get_global_size(0)) {
    const uint which = (uint)(i / rows);
    __global const uchar* row = data + byte_offset + i % rows * count * MASU_ELEMENT_BYTES;
    const ulong n = numbers_in(row, count);
    ulong value = quiet_nan_of(MASU_OF_FORMAT);
    if (n != 0) {
      ulong first = 0;
      ulong second = 0;
      ulong weight = 0;
      const uint what =
          point_among(method, n, MASU_OF_POINT(which, q), MASU_OF_POINT(which, offset), &first, &second, &weight);
      const MASU_BITS a = element_at(row, first);
      if (what != MASU_POINT_ELEMENT) {
        weight = float_as(weight, MASU_DOUBLE_FORMAT, MASU_OF_FORMAT);
        value = between(a, element_at(row, second), weight, what, MASU_OF_FORMAT);
      } else {
        value = plain != 0 ? a : element_as_float(a, MASU_OF_FORMAT);
      }
    }
    set_result(results + results_at, i, result_bytes, value);
  }
}

// SPDX-License-Identifier: Apache-2.0
// The result of a row, made of its exact totals by the last work-group that adds to them: a sum, a dot product, a mean, a
// norm, or a variance (n S - V^2) / (n (n - ddof)), V the sum of the values and S that of their squares, both counted from
// one lowest bit. Rounded once. No work-group waits for another. After sum.cl and sum_number.cl.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

// What a result is, beside its dtype.
#define SUM_AS_INTEGER 0u  // a sum or dot product of integers, modulo 2^64
#define SUM_AS_QUOTIENT 1u
#define SUM_AS_ROOT 2u
#define SUM_AS_DEVIATION 4u  // the root of a variance, which is 3

// Totals of a row, in words: of a variance those of the squares, then those of the values.
#define SUM_ROW_WORDS (2 * MASU_TABLE_ROWS * (1 + MASU_BOTH))

// How a result is made. `what`: SUM_AS_...; `divisor` is ddof of a variance; a float has `bits` bits, `precision` of its
// mantissa, the lowest one of 2^least at least. An integer that does not fit sets the lowest bit of the status word.
#define SUM_RESULT_PARAMETERS                                                                                 \
  const uint what, const ulong divisor, const uint precision, const int least, const uint bits,              \
      __global uchar *results, const ulong results_at, __global uchar *status, const ulong status_at
#define SUM_FINISH_PARAMETERS                                                                       \
  __local ulong *digits, __local uint *words, __local uint *value, __local uint *kept_totals
#define SUM_FINISH_POINTERS                                          \
  MASU_LOCAL_POINTER(ulong, digits);     /* MASU_WORDS */            \
  MASU_LOCAL_POINTER(uint, words);       /* MASU_WORDS */            \
  MASU_LOCAL_POINTER(uint, value);       /* MASU_VALUE_WORDS */      \
  MASU_LOCAL_POINTER(uint, kept_totals); /* 2 * MASU_TABLE_ROWS */

#if MASU_BOTH
// words *= factor, which is at most 2^48.
inline void multiply(__local uint *words, const ulong factor) {
  const ulong low = factor & 0xffffffffu;
  const ulong high = factor >> 32;
  ulong carry = 0;
  MASU_ROLLED
  for (int w = 0; w < MASU_WORDS; ++w) {
    const ulong word = words[w];
    const ulong product = word * low;
    const ulong sum = product + carry;
    words[w] = (uint)sum;
    carry = (sum >> 32) + word * high + (sum < product ? (ulong)1 << 32 : 0);
  }
}

// words -= value^2, above the words that lie below both. The difference is not negative.
inline void subtract_square(__local uint *words, __local const uint *value) {
  int end = MASU_VALUE_WORDS;
  while (end > 0 && value[end - 1] == 0) --end;
  for (int i = 0; i < end; ++i) {
    if (value[i] == 0) continue;
    ulong carry = 0;
    for (int k = 0; k < end; ++k) {
      const ulong product = (ulong)value[i] * value[k] + carry;
      const ulong rest = (ulong)words[MASU_BELOW + i + k] - (product & 0xffffffffu);
      words[MASU_BELOW + i + k] = (uint)rest;
      carry = (product >> 32) + (rest >> 63);
    }
    for (int w = MASU_BELOW + i + end; carry != 0 && w < MASU_WORDS; ++w) {
      const ulong rest = (ulong)words[w] - carry;
      words[w] = (uint)rest;
      carry = rest >> 63;
    }
  }
}
#endif

// By one work-item. `above`: of the number, or of V.
inline void store_row(const long above, __global uint *kinds, const ulong count, const uint what, const ulong divisor,
                      const uint precision, const int least, const uint bits, __global uchar *result,
                      __global uint *status, __local uint *words, __local uint *value) {
#if MASU_BOTH
  if (above < 0) negate(value, MASU_VALUE_WORDS);
  multiply(words, count);
  subtract_square(words, value);
  // A quotient of a quotient, both rounded down, is the whole one rounded down.
  bool more = divide(words, count);
  more = divide(words, count - divisor) || more;
  // With what is not finite there is no variance, whatever it is.
  const uint specials = atomic_or(kinds, 0u) != 0 ? MASU_NAN : 0;
  store_result(result, bits,
               finished(words, what == SUM_AS_DEVIATION, more, false, specials, precision, least, bits));
#else
#if !MASU_FLOAT
  if (what == SUM_AS_INTEGER) {
    ulong whole;
    if (!whole_number(above, words, MASU_SIGNED, &whole)) atomic_or(status, 1u);
    *(__global ulong *)result = whole;
    return;
  }
#endif
  if (above < 0) negate(words, MASU_WORDS);
  const bool more = divisor > 1 && divide(words, divisor);
  store_result(result, bits,
               finished(words, what == SUM_AS_ROOT, more, above < 0, atomic_or(kinds, 0u), precision, least, bits));
#endif
}

// Without words nothing is done.
inline void finish_row(const bool last, __global uint *row_totals, __global uint *kinds, const ulong count,
                       const uint what, const ulong divisor, const uint precision, const int least, const uint bits,
                       __global uchar *result, __global uint *status, __local ulong *digits, __local uint *words,
                       __local uint *value, __local uint *kept_totals) {
  take_totals(row_totals, last ? MASU_TABLE_ROWS : 0, kept_totals);
  long above = make_number(kept_totals, MASU_TABLE_ROWS, MASU_SPACING, MASU_STEP, MASU_BELOW, last ? MASU_WORDS : 0,
                           digits, words);
#if MASU_BOTH
  take_totals(row_totals + 2 * MASU_TABLE_ROWS, last ? MASU_TABLE_ROWS : 0, kept_totals);
  above = make_number(kept_totals, MASU_TABLE_ROWS, MASU_SPACING, MASU_STEP, 0, last ? MASU_VALUE_WORDS : 0, digits,
                      value);
#endif
  if (last && get_local_id(0) == 0) {
    store_row(above, kinds, count, what, divisor, precision, least, bits, result, status, words, value);
  }
}

// Adds a unit to its row's totals, and makes the result when it is the row's last. The local memories are what the kernel
// was given.
MASU_APART void add_and_finish(__global const uchar *x, const ulong x_at, __global const uchar *y, const ulong y_at,
                           const ulong count, const ulong rows, const ulong columns, const ulong shares,
                           const size_t unit,
                           __local uint *table, __global uint *row_totals, __global uint *kinds, __global uint *arrived,
                           SUM_RESULT_PARAMETERS, __local ulong *digits, __local uint *words, __local uint *value,
                           __local uint *kept_totals) {
  MASU_LOCAL_POINTER(uint, table);
  SUM_FINISH_POINTERS
  clear(table);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint of = 0; of < 1 + MASU_BOTH; ++of) {
    add_unit(x, x_at, y, MASU_BOTH ? (ulong)of : y_at, count, rows, columns, shares, unit, table,
             row_totals + of * (2 * MASU_TABLE_ROWS), kinds);
  }
  finish_row(is_last_group(arrived, shares, true, words), row_totals, kinds, count, what, divisor, precision, least, bits,
             results + results_at + unit / shares * (bits / 8), (__global uint *)(status + status_at), digits, words,
             value, kept_totals);
}

// SPDX-License-Identifier: Apache-2.0
// Variances and standard deviations of exact totals: (n S - V^2) / (n (n - ddof)), V the sum of the values and S that of
// their squares, rounded once. Behind sum_number.cl, whose numbers count from the lowest bit of S, which is that of V^2.
//
// Defines beside its, all given by sum_plan.cpp:
// - MASU_VALUE_WORDS           words of V
// - MASU_VALUE_ROWS            totals of V in a row of the data
// - MASU_SQUARE_ROWS           and of S
// - MASU_VALUE_SPACING, MASU_VALUE_STEP, MASU_SQUARE_SPACING, MASU_SQUARE_STEP   of floats, as for sum.cl

// words *= factor, which is at most 2^48.
inline void multiply(__local uint *words, const ulong factor) {
  const ulong low = factor & 0xffffffffu;
  const ulong high = factor >> 32;
  ulong carry = 0;
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

// A work-group for each row of totals; nothing is done where unsure_at, as sum_add has it, says so. `root`: 1 for the standard deviation; the others as for sum_add.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sum_variance(__global uchar *memory, const ulong values_at,
                                                       const ulong squares_at, const ulong flags_at,
                                                       const ulong unsure_at, const uint root, const ulong count, const ulong ddof, const uint precision,
                                                       const int least, const uint bits, __global uchar *results,
                                                       const ulong results_at, __local ulong *digits,
                                                       __local uint *words, __local uint *value,
                                                       __local uint *row_totals) {
  MASU_LOCAL_POINTER(ulong, digits);  // MASU_WORDS
  MASU_LOCAL_POINTER(uint, words);    // MASU_WORDS
  MASU_LOCAL_POINTER(uint, value);    // MASU_VALUE_WORDS
  MASU_LOCAL_POINTER(uint, row_totals);  // 2 * the greater of MASU_VALUE_ROWS and MASU_SQUARE_ROWS
  const ulong row = get_group_id(0);
  // Without words nothing is done.
  const bool wanted = unsure_at == ULONG_MAX || ((__global const uint *)memory)[unsure_at / 4] != 0;
  take_totals((__global uint *)(memory + values_at) + row * (2 * MASU_VALUE_ROWS), wanted ? MASU_VALUE_ROWS : 0,
              row_totals);
  const long above = make_number(row_totals, MASU_VALUE_ROWS, MASU_VALUE_SPACING, MASU_VALUE_STEP, 0,
                                 wanted ? MASU_VALUE_WORDS : 0, digits, value);
  take_totals((__global uint *)(memory + squares_at) + row * (2 * MASU_SQUARE_ROWS), wanted ? MASU_SQUARE_ROWS : 0,
              row_totals);
  make_number(row_totals, MASU_SQUARE_ROWS, MASU_SQUARE_SPACING, MASU_SQUARE_STEP, MASU_BELOW, wanted ? MASU_WORDS : 0,
              digits, words);
  if (!wanted || get_local_id(0) != 0) return;
  if (above < 0) negate(value, MASU_VALUE_WORDS);
  multiply(words, count);
  subtract_square(words, value);
  // A quotient of a quotient, both rounded down, is the whole one rounded down.
  bool more = divide(words, count);
  more = divide(words, count - ddof) || more;
  // With what is not finite there is no variance, whatever it is.
  const uint specials = ((__global const uint *)(memory + flags_at))[row] != 0 ? 1u : 0;
  store_result(results + results_at + row * (bits / 8), bits,
               finished(words, root != 0, more, false, specials, precision, least, bits));
}

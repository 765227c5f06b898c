// SPDX-License-Identifier: Apache-2.0
// Results of exact totals, left where they are: sums, dot products, means and norms. Behind sum_number.cl.
//
// Defines beside its, all given by sum_plan.cpp:
// - MASU_TABLE_ROWS           totals of a row of the data
// - MASU_SPACING, MASU_STEP   of floats, as for sum.cl

// What a result is, beside its dtype.
#define MASU_AS_INTEGER 0u  // a sum or dot product of integers, modulo 2^64
#define MASU_AS_QUOTIENT 1u
#define MASU_AS_ROOT 2u

// A work-group for each row of totals. `what`: MASU_AS_...; a float has `bits` bits, `precision` of its mantissa, the lowest
// one of 2^least at least. An integer that does not fit sets the lowest bit of the status word.
__kernel MASU_WORK_GROUP(MASU_GROUP) void sum_round(__global const uchar *restrict memory, const ulong totals_at,
                                                    const ulong flags_at, const uint what, const ulong divisor,
                                                    const uint precision, const int least, const uint bits,
                                                    __global uchar *results, const ulong results_at,
                                                    __global uchar *status, const ulong status_at,
                                                    __local ulong *digits, __local uint *words) {
  MASU_LOCAL_POINTER(ulong, digits);  // MASU_WORDS
  MASU_LOCAL_POINTER(uint, words);    // MASU_WORDS
  const ulong row = get_group_id(0);
  __global const uint *totals = (__global const uint *)(memory + totals_at) + row * (2 * MASU_TABLE_ROWS);
  const long above = make_number(totals, MASU_TABLE_ROWS, MASU_SPACING, MASU_STEP, MASU_BELOW, MASU_WORDS, digits, words);
  if (get_local_id(0) != 0) return;
  __global uchar *result = results + results_at + row * (bits / 8);
#if !MASU_FLOAT
  if (what == MASU_AS_INTEGER) {
    const ulong low = (ulong)words[MASU_BELOW + 1] << 32 | words[MASU_BELOW];
    const uint sign = MASU_SIGNED && as_long(low) < 0 ? 0xffffffffu : 0;
    bool fits = above == as_int(sign);
    for (int w = MASU_BELOW + 2; w < MASU_WORDS; ++w) fits = fits && words[w] == sign;
    if (!fits) atomic_or((__global uint *)(status + status_at), 1u);
    *(__global ulong *)result = low;
    return;
  }
#endif
  if (above < 0) negate(words, MASU_WORDS);
  const bool more = divisor > 1 && divide(words, divisor);
  const uint specials = ((__global const uint *)(memory + flags_at))[get_num_groups(0) + row];
  store_result(result, bits,
               finished(words, what == MASU_AS_ROOT, more, above < 0, specials, precision, least, bits));
}

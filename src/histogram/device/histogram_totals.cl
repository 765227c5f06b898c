// SPDX-License-Identifier: Apache-2.0
// The last step of totals, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): counts by value go to their slots
// (after totals.cl); or sums of weights are rounded once (after sum_number.cl, whose
// numbers are made of the digits that weighted_histogram.cl has added).
//
// A table of counts has `bins` bins, then below, above and NaN.
//
// Defines, given by histogram_plan.cpp; those of sums beside sum_number.cl's, by weighted_kernels.cpp:
// - MASU_GROUP          work-items in a work-group
// - MASU_DIGITS         digits of a sum, 16 bits apart, each a total of 64 bits, then a word of flags. 0:
//                       the totals are counts
// - MASU_WEIGHT_SIGNED  1: the weights have a sign
// - MASU_WHOLE          1: sums of integers, which are stored modulo 2^64 too
// - MASU_LISTED         1: the slots of a result are a list, else it is one slot

#if MASU_DIGITS == 0
// Adds the totals of `values` values of each table to the slots that they belong to: slot_of[v] for value v.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_fold(__global const ulong *by_value, const ulong first_value,
                                                         const uint values, __global const uint *slot_of,
                                                         const ulong tables, const ulong bins, __global uint *totals,
                                                         const ulong first_total) {
  for (ulong i = get_global_id(0); i < tables * values; i += get_global_size(0)) {
    const ulong table = i / values;
    const ulong number = by_value[first_value + i];
    if (number != 0) add_total(&totals[2 * (first_total + table * (bins + 3) + slot_of[i - table * values])], number);
  }
}
#else
// A work-group makes the results of rows * results slots in turn, each of the digits of its slots. `lists`: where the list
// of each result begins in what follows, one more, and all lists. `wanted`: 1 integers, 2 the status, whose lowest bit is
// set where an integer does not fit.
__kernel MASU_WORK_GROUP(MASU_GROUP) void weighted_round(
    __global const ulong *totals, const ulong totals_at, const ulong slots, const ulong results, const ulong rows,
    __global const uint *lists, __global uchar *sums, const ulong sums_at, __global uchar *integers,
    const ulong integers_at, __global uchar *status, const ulong status_at, const uint wanted, __local ulong *digits,
    __local uint *words, __local uint *row_totals) {
  MASU_LOCAL_POINTER(ulong, digits);      // MASU_WORDS
  MASU_LOCAL_POINTER(uint, words);        // MASU_WORDS
  MASU_LOCAL_POINTER(uint, row_totals);  // 2 * (MASU_DIGITS + 1)
  const uint lane = (uint)get_local_id(0);
  for (ulong at = get_group_id(0); at < rows * results; at += get_num_groups(0)) {
    const ulong row = at / results;
    const ulong result = at - row * results;
    __global const ulong *row_digits = totals + totals_at + row * slots * (MASU_DIGITS + 1);
#if MASU_LISTED
    const ulong first = lists[result];
    const ulong end = lists[result + 1];
#else
    const ulong first = result;
    const ulong end = result + 1;
#endif
    for (uint d = lane; d <= MASU_DIGITS; d += MASU_GROUP) {
      ulong sum = 0;
      for (ulong k = first; k < end; ++k) {
        const ulong slot = MASU_LISTED ? lists[results + 1 + k] : k;
        const ulong total = row_digits[slot * (MASU_DIGITS + 1) + d];
        sum = d == MASU_DIGITS ? sum | total : sum + total;
      }
      row_totals[2 * d] = (uint)sum;
      row_totals[2 * d + 1] = (uint)(sum >> 32);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long above = make_number(row_totals, MASU_DIGITS, 0, 0, MASU_BELOW, MASU_WORDS, digits, words);
    if (lane == 0) {
#if MASU_WHOLE
      ulong whole;
      const bool fits = whole_number(above, words, MASU_WEIGHT_SIGNED, &whole);
      if ((wanted & 1) != 0) ((__global ulong *)(integers + integers_at))[at] = whole;
      if ((wanted & 2) != 0 && !fits) atomic_or((__global uint *)(status + status_at), 1u);
#endif
      if (above < 0) negate(words, MASU_WORDS);
      store_result(sums + sums_at + 8 * at, 64,
                   finished(words, false, false, above < 0, row_totals[2 * MASU_DIGITS], 53, -1074, 64));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

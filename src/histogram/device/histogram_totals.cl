// SPDX-License-Identifier: Apache-2.0
// The last step of totals, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): counts by value go to their slots
// (after totals.cl); or sums of weights are rounded once (after sum_number.cl, whose
// numbers are made of the digits that weighted_histogram.cl has added).
//
// A table of counts has `bins` bins, then below, above and NaN.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

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
// A work-group makes the results of `slots` slots in turn, each of its digits. `wanted`: 1 integers, 2 the status, whose
// lowest bit is set where an integer does not fit.
__kernel MASU_WORK_GROUP(MASU_GROUP) void weighted_round(
    __global const uint *totals, const ulong totals_at, const ulong slots, __global uchar *sums, const ulong sums_at,
    __global uchar *integers, const ulong integers_at, __global uchar *status, const ulong status_at, const uint wanted,
    __local ulong *digits, __local uint *words, __local uint *slot_totals) {
  MASU_LOCAL_POINTER(ulong, digits);      // MASU_WORDS
  MASU_LOCAL_POINTER(uint, words);        // MASU_WORDS
  MASU_LOCAL_POINTER(uint, slot_totals);  // 2 * (MASU_DIGITS + 1)
  const uint lane = (uint)get_local_id(0);
  for (ulong at = get_group_id(0); at < slots; at += get_num_groups(0)) {
    const ulong first = 2 * (totals_at + at * (MASU_DIGITS + 1));
    for (uint w = lane; w < 2 * (MASU_DIGITS + 1); w += MASU_GROUP) slot_totals[w] = totals[first + w];
    barrier(CLK_LOCAL_MEM_FENCE);
    const long above = make_number(slot_totals, MASU_DIGITS, 0, 0, MASU_BELOW, MASU_WORDS, digits, words);
    if (lane == 0) {
#if MASU_WHOLE
      ulong whole;
      const bool fits = whole_number(above, words, MASU_WEIGHT_SIGNED, &whole);
      if ((wanted & 1) != 0) ((__global ulong *)(integers + integers_at))[at] = whole;
      if ((wanted & 2) != 0 && !fits) atomic_or((__global uint *)(status + status_at), 1u);
#endif
      if (above < 0) negate(words, MASU_WORDS);
      store_result(sums + sums_at + 8 * at, 64,
                   finished(words, false, false, above < 0, slot_totals[2 * MASU_DIGITS], 53, -1074, 64));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

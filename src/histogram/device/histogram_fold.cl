// SPDX-License-Identifier: Apache-2.0
// What is left to do with totals where they were counted by value, or where values outside go to the outer bins, in OpenCL
// C 1.2 (and, behind the CUDA prelude, in CUDA C++). totals.cl stands in front of this file.
//
// A table has `bins` bins and, behind them, below, above and NaN.
//
// Defines, given by histogram_plan.cpp:
// - MASU_GROUP  work-items in a work-group

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

// Moves what lies below to the first bin, and what lies above to the last one.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_clamp(const ulong tables, const ulong bins, __global ulong *totals,
                                                          const ulong first_total) {
  for (ulong table = get_global_id(0); table < tables; table += get_global_size(0)) {
    __global ulong *slots = totals + first_total + table * (bins + 3);
    slots[0] += slots[bins];
    slots[bins - 1] += slots[bins + 1];
    slots[bins] = 0;
    slots[bins + 1] = 0;
  }
}

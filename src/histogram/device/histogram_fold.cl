// SPDX-License-Identifier: Apache-2.0
// What is left to do with totals where they were counted by value, or where values outside go to the outer bins, in OpenCL
// C 1.2 (and, behind the CUDA prelude, in CUDA C++). totals.cl stands in front of this file.
//
// Each channel has `bins` bins and, behind them, below, above and NaN.
//
// Defines, given by histogram_plan.cpp:
// - MASU_GROUP  work-items in a work-group

// Adds the totals of `values` values of each channel to the slots that they belong to: slot_of[v] for value v.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_fold(__global const ulong *by_value, const ulong first_value,
                                                         const uint values, __global const uint *slot_of,
                                                         const uint channels, const ulong bins, __global uint *totals,
                                                         const ulong first_total) {
  for (uint channel = 0; channel < channels; ++channel) {
    for (uint v = (uint)get_global_id(0); v < values; v += (uint)get_global_size(0)) {
      const ulong number = by_value[first_value + (ulong)channel * values + v];
      if (number != 0) add_total(&totals[2 * (first_total + channel * (bins + 3) + slot_of[v])], number);
    }
  }
}

// Moves what lies below to the first bin, and what lies above to the last one. One work-item a channel.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_clamp(const uint channels, const ulong bins, __global ulong *totals,
                                                          const ulong first_total) {
  const uint channel = (uint)get_global_id(0);
  if (channel >= channels) return;
  __global ulong *slots = totals + first_total + channel * (bins + 3);
  slots[0] += slots[bins];
  slots[bins - 1] += slots[bins + 1];
  slots[bins] = 0;
  slots[bins + 1] = 0;
}

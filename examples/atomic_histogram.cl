// SPDX-License-Identifier: Apache-2.0
// A histogram with atomics in local memory. Each work-group counts its own block of the values in a table of its own;
// a second kernel adds the tables up. Beside them, the loop that all this replaces.

// Work-group g counts values[g * block] … values[(g + 1) * block - 1], as far as there are values, into
// tables[g * bins] … . `table` is local memory for `bins` counters. Values that have no bin are counted in `outside`,
// which the host sets to 0.
__kernel void count_in_groups(__global const uint* values, ulong length, ulong block, uint bins, __local uint* table,
                              __global uint* tables, __global uint* outside) {
  const uint item = (uint)get_local_id(0);
  const uint items = (uint)get_local_size(0);

  // The items share the bins among them, whether there are more bins or more items.
  for (uint bin = item; bin < bins; bin += items) table[bin] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);  // nobody counts before all is zero

  // The last blocks may be short or empty; a block that ends beyond the data ends with the data.
  const ulong begin = min((ulong)get_group_id(0) * block, length);
  const ulong end = min(begin + block, length);
  for (ulong i = begin + item; i < end; i += items) {
    const uint value = values[i];
    if (value < bins) atomic_inc(&table[value]);
    else atomic_inc(outside);
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // nobody copies before all is counted

  for (uint bin = item; bin < bins; bin += items) tables[(ulong)get_group_id(0) * bins + bin] = table[bin];
}

// Work-item b adds bin b of all tables. 64 bits: many tables of 32 bits may exceed 32 bits.
__kernel void merge_tables(__global const uint* tables, uint groups, uint bins, __global ulong* counts) {
  const ulong bin = get_global_id(0);
  if (bin >= bins) return;  // the global size may be rounded up
  ulong sum = 0;
  for (uint group = 0; group < groups; ++group) sum += tables[(ulong)group * bins + bin];
  counts[bin] = sum;
}

// One work-item, one loop, one table: nothing is atomic, and nothing hides the latency of the memory. The host sets the
// counts to 0. Values that have no bin are left out.
__kernel void count_in_one_loop(__global const uint* values, ulong length, uint bins, __global ulong* counts) {
  for (ulong i = 0; i < length; ++i) {
    if (values[i] < bins) ++counts[values[i]];
  }
}

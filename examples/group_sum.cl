// SPDX-License-Identifier: Apache-2.0
// A sum in two levels: each work-item sums some of the values, each work-group sums what its items have, and a second
// kernel, of one work-group, sums the groups. No barrier orders work-groups among themselves; the end of a kernel does.

// The sum of `mine` over the work-group, for its item 0. `sums` has room for one value for each item. Each round folds
// the upper part of what is left onto the lower one; with an odd number the middle one waits, so any size will do.
ulong sum_of_group(ulong mine, __local ulong* sums) {
  const uint item = (uint)get_local_id(0);
  sums[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);  // nobody adds before all have written
  for (uint left = (uint)get_local_size(0); left > 1;) {
    const uint lower = (left + 1) / 2;
    if (item < left - lower) sums[item] += sums[item + lower];
    barrier(CLK_LOCAL_MEM_FENCE);  // outside the `if`: every item must come here
    left = lower;
  }
  return sums[0];
}

// Leaves the sum of group g's values in partial[g]. All items of all groups walk over the values together, so any
// number of values, groups and items will do. 64 bits, as 32 would overflow after a few large values.
__kernel void sum_in_groups(__global const uint* values, ulong n, __local ulong* sums, __global ulong* partial) {
  ulong mine = 0;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) mine += values[i];
  const ulong sum = sum_of_group(mine, sums);
  if (get_local_id(0) == 0) partial[get_group_id(0)] = sum;
}

// Run by one work-group: total[0] = partial[0] + … + partial[groups - 1].
__kernel void sum_groups(__global const ulong* partial, ulong groups, __local ulong* sums, __global ulong* total) {
  ulong mine = 0;
  for (ulong i = get_local_id(0); i < groups; i += get_local_size(0)) mine += partial[i];
  const ulong sum = sum_of_group(mine, sums);
  if (get_local_id(0) == 0) *total = sum;
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: group 0 adds the sums of groups that may not have run yet; a barrier orders one group.
__kernel void sum(__global const uint *in, __global uint *partial, __global uint *total) {
  const size_t group = get_group_id(0);
  if (get_local_id(0) == 0) {
    uint sum = 0;
    for (size_t i = 0; i < get_local_size(0); ++i) sum += in[group * get_local_size(0) + i];
    partial[group] = sum;
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (get_global_id(0) == 0) {
    uint sum = 0;
    for (size_t g = 0; g < get_num_groups(0); ++g) sum += partial[g];
    *total = sum;
  }
}

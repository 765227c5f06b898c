// SPDX-License-Identifier: Apache-2.0
// Mended: an integer sum that every group adds to, atomically, in any order.
__kernel void sum(__global const uint *in, __global uint *partial, __global uint *total) {
  const size_t group = get_group_id(0);
  if (get_local_id(0) == 0) {
    uint sum = 0;
    for (size_t i = 0; i < get_local_size(0); ++i) sum += in[group * get_local_size(0) + i];
    partial[group] = sum;
    atomic_add(total, sum);
  }
}

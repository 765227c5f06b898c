// SPDX-License-Identifier: Apache-2.0
// Mended: the work-group's sum, through local memory.
__kernel void sums(__global const uint *in, __global uint *out) {
  __local uint sum;
  if (get_local_id(0) == 0) sum = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&sum, in[get_global_id(0)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = sum;
}

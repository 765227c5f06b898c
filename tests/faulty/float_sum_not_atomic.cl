// SPDX-License-Identifier: Apache-2.0
// Faulty: work-items of a group add to one float in local memory.
__kernel void sum(__global const float *in, __global float *out) {
  __local float total;
  if (get_local_id(0) == 0) total = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  total += in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) out[get_group_id(0)] = total;
}

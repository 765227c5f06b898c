// SPDX-License-Identifier: Apache-2.0
// Faulty: the barrier orders local memory, but the work-items talk through global memory.
__kernel void turn(__global uint *data, __global uint *out) {
  const size_t i = get_global_id(0);
  const size_t first = get_group_id(0) * get_local_size(0);
  data[i] = (uint)i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = data[first + get_local_size(0) - 1 - get_local_id(0)];
}

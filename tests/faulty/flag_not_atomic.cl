// SPDX-License-Identifier: Apache-2.0
// Faulty: a message is announced by a flag that is written and read without atomics, from group to group.
__kernel void message(__global uint *payload, __global uint *flag, __global uint *out) {
  if (get_global_id(0) == 0) {
    payload[0] = 42;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    flag[0] = 1;
  }
  if (get_group_id(0) == 1 && get_local_id(0) == 0)
    out[0] = flag[0];
}

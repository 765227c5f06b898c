// SPDX-License-Identifier: Apache-2.0
// Faulty: the two branches have a barrier each, and a work-group takes both.
__kernel void split(__global uint *data) {
  if (get_local_id(0) % 2 == 0) {
    barrier(CLK_LOCAL_MEM_FENCE);
  } else {
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  data[get_global_id(0)] = 1;
}

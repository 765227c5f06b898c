// SPDX-License-Identifier: Apache-2.0
// Mended: one barrier behind the branches.
__kernel void split(__global uint *data) {
  const uint value = get_local_id(0) % 2 == 0 ? 1 : 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = value;
}

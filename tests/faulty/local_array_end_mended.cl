// SPDX-License-Identifier: Apache-2.0
// Mended: it takes the first.
__kernel void rotate_left(__global const uint *in, __global uint *out) {
  __local uint tile[16];
  const size_t lane = get_local_id(0);
  tile[lane] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[(lane + 1) % 16];
}

// SPDX-License-Identifier: Apache-2.0
// Mended: a barrier between.
__kernel void turn(__global const uint *in, __global uint *out, __local uint *tile) {
  const size_t lane = get_local_id(0);
  tile[lane] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[get_local_size(0) - 1 - lane];
}

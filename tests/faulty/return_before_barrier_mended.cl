// SPDX-License-Identifier: Apache-2.0
// Mended: they only do no work.
__kernel void turn(__global const uint *in, __global uint *out, const uint n, __local uint *tile) {
  const size_t i = get_global_id(0);
  const size_t lane = get_local_id(0);
  if (i < n) tile[lane] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) out[i] = tile[lane];
}

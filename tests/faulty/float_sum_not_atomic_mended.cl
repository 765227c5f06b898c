// SPDX-License-Identifier: Apache-2.0
// Mended: a tree of sums, in the same order each time.
__kernel void sum(__global const float *in, __global float *out) {
  __local float sums[16];
  const uint lane = (uint)get_local_id(0);
  sums[lane] = in[get_global_id(0)];
  for (uint distance = 8; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) sums[lane] += sums[lane + distance];
  }
  if (lane == 0) out[get_group_id(0)] = sums[0];
}

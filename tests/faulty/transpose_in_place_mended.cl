// SPDX-License-Identifier: Apache-2.0
// Mended: from one matrix into another.
__kernel void transpose(__global const float *in, __global float *out, const uint n) {
  const size_t x = get_global_id(0);
  const size_t y = get_global_id(1);
  out[x * n + y] = in[y * n + x];
}

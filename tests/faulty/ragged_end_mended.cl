// SPDX-License-Identifier: Apache-2.0
// Mended: the length is an argument.
__kernel void double_all(__global const uint *in, __global uint *out, const uint n) {
  const size_t i = get_global_id(0);
  if (i < n) out[i] = in[i] * 2;
}

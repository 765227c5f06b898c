// SPDX-License-Identifier: Apache-2.0
// Mended: it does.
__kernel void sums(__global const uint *in, __global uint *out) {
  uint sum = 0;
  for (uint i = 0; i < 4; ++i) sum += in[4 * get_global_id(0) + i];
  out[get_global_id(0)] = sum;
}

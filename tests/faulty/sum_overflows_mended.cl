// SPDX-License-Identifier: Apache-2.0
// Mended: 64 bits do.
__kernel void sums(__global const uint *in, __global ulong *out) {
  ulong sum = 0;
  for (uint i = 0; i < 4; ++i) sum += in[4 * get_global_id(0) + i];
  out[get_global_id(0)] = sum;
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: 32 bits do not hold the sum. No memory is used wrongly: --expect finds it.
__kernel void sums(__global const uint *in, __global ulong *out) {
  uint sum = 0;
  for (uint i = 0; i < 4; ++i) sum += in[4 * get_global_id(0) + i];
  out[get_global_id(0)] = sum;
}

// SPDX-License-Identifier: Apache-2.0
// Mended: the number is made a uint.
__kernel void show(__global const float *in) {
  printf("%u: %f\n", (uint)get_global_id(0), in[get_global_id(0)]);
}

// SPDX-License-Identifier: Apache-2.0
// Mended: %lu takes the 64 bits of a size_t.
__kernel void show(__global const float *in) {
  printf("%lu: %f\n", get_global_id(0), in[get_global_id(0)]);
}

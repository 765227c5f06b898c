// SPDX-License-Identifier: Apache-2.0
// Faulty: the index has 64 bits, %u takes 32.
__kernel void show(__global const float *in) {
  printf("%u: %f\n", get_global_id(0), in[get_global_id(0)]);
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: OpenCL C has no length modifier z.
__kernel void show(__global const float *in) {
  printf("%zu: %f\n", get_global_id(0), in[get_global_id(0)]);
}

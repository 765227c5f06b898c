// SPDX-License-Identifier: Apache-2.0
// Faulty: OpenCL C takes the width of a column from the format alone.
#define COLUMN "%*d"
__kernel void show(__global const int *in) {
  printf(COLUMN "\n", 8, in[get_global_id(0)]);
}

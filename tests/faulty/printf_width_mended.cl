// SPDX-License-Identifier: Apache-2.0
// Mended: the width stands in the format.
#define COLUMN "%8d"
__kernel void show(__global const int *in) {
  printf(COLUMN "\n", in[get_global_id(0)]);
}

// SPDX-License-Identifier: Apache-2.0
// Mended: hl says elements of 4 bytes.
__kernel void show(__global const float *in) {
  const float8 values = vload8(get_global_id(0), in);
  printf("%2.1v8hlf\n", values);
}

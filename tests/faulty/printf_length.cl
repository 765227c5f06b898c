// SPDX-License-Identifier: Apache-2.0
// Faulty: the modifier l says eight doubles, the vector has floats.
__kernel void show(__global const float *in) {
  const float8 values = vload8(get_global_id(0), in);
  printf("%2.1v8lf\n", values);
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: a vector of floats is printed without the length modifier hl.
__kernel void show(__global const float *in) {
  const float4 values = vload4(get_global_id(0), in);
  printf("%#v4f\n", values);
}

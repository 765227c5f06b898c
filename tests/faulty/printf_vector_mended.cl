// SPDX-License-Identifier: Apache-2.0
// Mended: with it.
__kernel void show(__global const float *in) {
  const float4 values = vload4(get_global_id(0), in);
  printf("%#v4hlf\n", values);
}

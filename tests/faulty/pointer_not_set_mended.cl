// SPDX-License-Identifier: Apache-2.0
// Mended: the pointer is set.
__kernel void copy4(__global const float *in, __global float *out) {
  __global float *target = out;
  const float4 values = vload4(get_global_id(0), in);
  vstore4(values, get_global_id(0), target);
}

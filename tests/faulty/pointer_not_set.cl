// SPDX-License-Identifier: Apache-2.0
// Faulty: the four values go to wherever an uninitialised pointer points.
__kernel void copy4(__global const float *in, __global float *out) {
  __global float *target;
  const float4 values = vload4(get_global_id(0), in);
  vstore4(values, get_global_id(0), target);
  out[get_global_id(0)] = values.x;
}

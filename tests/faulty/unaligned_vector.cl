// SPDX-License-Identifier: Apache-2.0
// Faulty: a float4 must lie at a multiple of 16 bytes.
__kernel void shift4(__global const float *in, __global float *out) {
  const size_t i = get_global_id(0);
  const float4 values = *(__global const float4 *)(in + 4 * i + 1);
  vstore4(values, i, out);
}

// SPDX-License-Identifier: Apache-2.0
// Mended: vload4 needs the alignment of an element only.
__kernel void shift4(__global const float *in, __global float *out) {
  const size_t i = get_global_id(0);
  const float4 values = vload4(i, in + 1);
  vstore4(values, i, out);
}

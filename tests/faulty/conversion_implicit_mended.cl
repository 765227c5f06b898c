// SPDX-License-Identifier: Apache-2.0
// Mended: what is larger becomes 255.
__kernel void to_bytes(__global uchar *out, __global const float *in) {
  const size_t i = get_global_id(0);
  out[i] = convert_uchar_sat(in[i] * 2);
  vstore4(convert_uchar4_sat(vload4(i, in)), i, out + get_global_size(0));
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: 256 and more do not fit a byte, whether it is assigned or converted.
__kernel void to_bytes(__global uchar *out, __global const float *in) {
  const size_t i = get_global_id(0);
  out[i] = in[i] * 2;
  vstore4(convert_uchar4(vload4(i, in)), i, out + get_global_size(0));
}

// SPDX-License-Identifier: Apache-2.0
// Mended: it is.
__kernel void copy(__global const uint *in, __global uint *out) {
  const size_t i = get_global_id(0);
  const size_t k = i;
  out[i] = in[k];
}

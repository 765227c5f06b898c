// SPDX-License-Identifier: Apache-2.0
// Mended: only elements with two neighbours are set.
__kernel void add(__global int *out, __global const int *in) {
  const size_t i = get_global_id(0);
  if (i > 0 && i + 1 < get_global_size(0)) out[i] = in[i + 1] + in[i - 1];
}

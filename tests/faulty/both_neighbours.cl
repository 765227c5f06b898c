// SPDX-License-Identifier: Apache-2.0
// Faulty: the first work-item has no left neighbour, the last one no right one and no place for the sum.
__kernel void add(__global int *out, __global const int *in) {
  const size_t i = get_global_id(0);
  out[i + 1] = in[i + 1] + in[i - 1];
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: the first work-item has no left neighbour.
__kernel void difference(__global const int *in, __global int *out) {
  const size_t i = get_global_id(0);
  out[i] = in[i] - in[i - 1];
}

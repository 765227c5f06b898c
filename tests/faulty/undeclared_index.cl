// SPDX-License-Identifier: Apache-2.0
// Faulty: the index is declared nowhere.
__kernel void copy(__global const uint *in, __global uint *out) {
  const size_t i = get_global_id(0);
  out[i] = in[k];
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: no length, so the last work-items read past the end.
__kernel void double_all(__global const uint *in, __global uint *out) {
  const size_t i = get_global_id(0);
  out[i] = in[i] * 2;
}

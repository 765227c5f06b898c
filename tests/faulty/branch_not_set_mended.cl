// SPDX-License-Identifier: Apache-2.0
// Mended: all do.
__kernel void mark(__global const uint *in, __global uint *out) {
  const bool large = in[get_global_id(0)] > 60;
  if (large) out[get_global_id(0)] = 1;
}

// SPDX-License-Identifier: Apache-2.0
// Faulty: most work-items never set what they decide by.
__kernel void mark(__global const uint *in, __global uint *out) {
  bool large;
  if (in[get_global_id(0)] > 60) large = true;
  if (large) out[get_global_id(0)] = 1;
}

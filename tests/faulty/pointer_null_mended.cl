// SPDX-License-Identifier: Apache-2.0
// Mended: it points into the output.
__kernel void set(__global uint *out, const uint which) {
  __global uint *target = out;
  if (which == 1) target = out + get_global_size(0);
  target[get_global_id(0)] = 7;
}

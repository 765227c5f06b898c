// SPDX-License-Identifier: Apache-2.0
// Faulty: no work-item has set the pointer to anything but 0.
__kernel void set(__global uint *out, const uint which) {
  __global uint *target = 0;
  if (which == 1) target = out;
  target[get_global_id(0)] = 7;
}

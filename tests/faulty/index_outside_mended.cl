// SPDX-License-Identifier: Apache-2.0
// Mended: work-items behind the end count nothing.
__kernel void count(__global uint *bins, __global const uint *data, const uint n) {
  if (get_global_id(0) < n) atomic_inc(&bins[data[get_global_id(0)]]);
}

// SPDX-License-Identifier: Apache-2.0
// Mended: the number is compared before it is converted; a NaN is in no range.
__kernel void count(__global uint *bins, __global const float *data) {
  const float at = data[get_global_id(0)] * 16;
  if (at >= 0 && at < 16) atomic_inc(&bins[(int)at]);
}

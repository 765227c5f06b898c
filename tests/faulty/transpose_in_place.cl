// SPDX-License-Identifier: Apache-2.0
// Faulty: a work-item overwrites what another has still to read, in another group as well.
__kernel void transpose(__global float *matrix, const uint n) {
  const size_t x = get_global_id(0);
  const size_t y = get_global_id(1);
  const float value = matrix[y * n + x];
  barrier(CLK_GLOBAL_MEM_FENCE);
  matrix[x * n + y] = value;
}

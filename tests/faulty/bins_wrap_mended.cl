// SPDX-License-Identifier: Apache-2.0
// Mended: only values that have a bin are counted.
#define BINS 16
__kernel void count(__global const uint *values, __global uint *bins, __local uint *table) {
  const size_t lane = get_local_id(0);
  for (size_t b = lane; b < BINS; b += get_local_size(0)) table[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint value = values[get_global_id(0)];
  if (value < BINS) atomic_inc(&table[value]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t b = lane; b < BINS; b += get_local_size(0)) atomic_add(&bins[b], table[b]);
}

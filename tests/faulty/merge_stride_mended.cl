// SPDX-License-Identifier: Apache-2.0
// Mended: the work-items of a group stride by the size of the group.
#define BINS 64
__kernel void count(__global const uint *values, __global uint *bins, __local uint *table) {
  for (size_t b = get_local_id(0); b < BINS; b += get_local_size(0)) table[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&table[values[get_global_id(0)] % BINS]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t b = get_local_id(0); b < BINS; b += get_local_size(0)) atomic_add(&bins[b], table[b]);
}

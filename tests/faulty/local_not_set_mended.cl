// SPDX-License-Identifier: Apache-2.0
// Mended: it is cleared first.
__kernel void count(__global const uint *in, __global uint *out, __local uint *table) {
  if (get_local_id(0) < 8) table[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&table[in[get_global_id(0)] & 7]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < 8) atomic_add(&out[get_local_id(0)], table[get_local_id(0)]);
}

// SPDX-License-Identifier: Apache-2.0
// Mended: all of it does.
__kernel void halve(__global uint *data, __local uint *tile) {
  const size_t lane = get_local_id(0);
  tile[lane] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = tile[lane];
}

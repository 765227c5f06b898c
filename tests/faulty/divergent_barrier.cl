// SPDX-License-Identifier: Apache-2.0
// Faulty: only half of the work-group comes to the barrier.
__kernel void halve(__global uint *data, __local uint *tile) {
  const size_t lane = get_local_id(0);
  const size_t half_size = get_local_size(0) / 2;
  tile[lane] = data[get_global_id(0)];
  if (lane < half_size) {
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  data[get_global_id(0)] = tile[lane];
}

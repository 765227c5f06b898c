// SPDX-License-Identifier: Apache-2.0
// Faulty: the columns are taken with the wrong stride, and leave the matrix.
__kernel void column(__global const uint *matrix, __global uint *out, __local uint *tile) {
  event_t done = async_work_group_strided_copy(tile, matrix + get_group_id(0), 8, 10, 0);
  wait_group_events(1, &done);
  out[get_global_id(0)] = tile[get_local_id(0)];
}

// SPDX-License-Identifier: Apache-2.0
// Mended: the stride is the width; the copies count as writes of all they bring.
__kernel void column(__global const uint *matrix, __global uint *out, __local uint *tile) {
  event_t done = async_work_group_strided_copy(tile, matrix + get_group_id(0), 8, 8, 0);
  wait_group_events(1, &done);
  out[get_global_id(0)] = tile[get_local_id(0)];
}

// SPDX-License-Identifier: Apache-2.0
// Mended: before.
__kernel void copy(__global const uint *in, __global uint *out, __local uint *tile) {
  const size_t n = get_local_size(0);
  event_t done = async_work_group_copy(tile, in + get_group_id(0) * n, n, 0);
  wait_group_events(1, &done);
  out[get_global_id(0)] = tile[get_local_id(0)];
}

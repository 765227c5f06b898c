// SPDX-License-Identifier: Apache-2.0
// Faulty: what is copied asynchronously is used, and the group ends, without waiting.
__kernel void copy(__global const uint *in, __global uint *out, __local uint *tile) {
  const size_t n = get_local_size(0);
  async_work_group_copy(tile, in + get_group_id(0) * n, n, 0);
  out[get_global_id(0)] = 1;
}

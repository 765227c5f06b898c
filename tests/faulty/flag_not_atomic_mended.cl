// SPDX-License-Identifier: Apache-2.0
// Mended: message and flag are atomic, the fence between; who comes too early finds no message, and does not wait.
__kernel void message(__global uint *payload, __global uint *flag, __global uint *out) {
  if (get_global_id(0) == 0) {
    atomic_xchg(payload, 42u);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(flag, 1u);
  }
  if (get_group_id(0) == 1 && get_local_id(0) == 0)
    out[0] = atomic_or(flag, 0u) == 0 ? 0 : atomic_or(payload, 0u);
}

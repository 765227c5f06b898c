// SPDX-License-Identifier: Apache-2.0
// Faulty: the loop waits for a group that may not run before this one ends. --timeout ends it.
__kernel void wait(__global uint *flag, __global uint *out) {
  if (get_group_id(0) == 1) atomic_xchg(flag, 1u);
  while (atomic_or(flag, 0u) == 0) {
  }
  out[get_global_id(0)] = 1;
}

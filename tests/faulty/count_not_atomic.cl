// SPDX-License-Identifier: Apache-2.0
// Faulty: work-items add to one counter without atomics, and lose counts.
__kernel void count(__global const uint *in, __global uint *counter) {
  if (in[get_global_id(0)] % 2 == 0)
    counter[0] += 1;
}

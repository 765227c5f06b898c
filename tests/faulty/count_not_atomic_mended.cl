// SPDX-License-Identifier: Apache-2.0
// Mended: an atomic increment.
__kernel void count(__global const uint *in, __global uint *counter) {
  if (in[get_global_id(0)] % 2 == 0)
    atomic_inc(counter);
}

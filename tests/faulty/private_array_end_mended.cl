// SPDX-License-Identifier: Apache-2.0
// Mended: it stops in time.
__kernel void powers(__global uint *out) {
  uint power[4];
  power[0] = 1;
  for (uint i = 1; i < 4; ++i) {
    power[i] = power[i - 1] * (uint)(get_global_id(0) + 2);
  }
  out[get_global_id(0)] = power[3];
}

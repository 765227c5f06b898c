// SPDX-License-Identifier: Apache-2.0
// Faulty: with a number of elements that is no power of two the partner may not exist.
__kernel void exchange(__global const int *in, __global int *out, const uint distance) {
  const uint i = (uint)get_global_id(0);
  const uint partner = i ^ distance;
  const int mine = in[i];
  const int other = in[partner];
  out[i] = i < partner ? min(mine, other) : max(mine, other);
}

// SPDX-License-Identifier: Apache-2.0
// Mended: a work-item without a partner keeps its element.
__kernel void exchange(__global const int *in, __global int *out, const uint distance) {
  const uint i = (uint)get_global_id(0);
  const uint partner = i ^ distance;
  const int mine = in[i];
  const int other = partner < get_global_size(0) ? in[partner] : mine;
  out[i] = i < partner ? min(mine, other) : max(mine, other);
}

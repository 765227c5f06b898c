// SPDX-License-Identifier: Apache-2.0
// Not to be checked: Oclgrind has no functions of sub-groups.
__kernel void sums(__global const uint *in, __global uint *out) {
  out[get_global_id(0)] = sub_group_reduce_add(in[get_global_id(0)]);
}

// SPDX-License-Identifier: Apache-2.0
// Four ways to the sum of x[i] * y[i], as they are usually written. Each rounds after every step, so the order of the
// steps is in the result; with an atomic nobody chooses that order.

// Adds to a float in global memory. OpenCL 1.2 has no function for it: read, add, and write back where nobody else has
// written meanwhile; else once more.
void add_to(volatile __global float* total, float value) {
  volatile __global uint* const bits = (volatile __global uint*)total;
  uint seen = 0;  // a guess: the first try tells what is there
  while (true) {
    const uint found = atomic_cmpxchg(bits, seen, as_uint(as_float(seen) + value));
    if (found == seen) return;
    seen = found;
  }
}

// Every product goes to one float, which all work-items fight for. The host sets it to 0.
__kernel void dot_atomic(__global const float* x, __global const float* y, ulong n, volatile __global float* total) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) add_to(total, x[i] * y[i]);
}

// Each work-item sums every so many-th product; the host adds the items.
__kernel void dot_items(__global const float* x, __global const float* y, ulong n, __global float* sums) {
  float mine = 0;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) mine += x[i] * y[i];
  sums[get_global_id(0)] = mine;
}

// The work-items of a group add theirs in local memory; the host adds the groups. Built with -DSUM=float or double.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
__kernel void dot_groups(__global const float* x, __global const float* y, ulong n, __local SUM* sums,
                         __global SUM* partial) {
  const uint item = (uint)get_local_id(0);
  SUM mine = 0;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) mine += (SUM)x[i] * (SUM)y[i];
  sums[item] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);  // nobody adds before all have written
  for (uint left = (uint)get_local_size(0); left > 1;) {
    const uint lower = (left + 1) / 2;
    if (item < left - lower) sums[item] += sums[item + lower];
    barrier(CLK_LOCAL_MEM_FENCE);
    left = lower;
  }
  if (item == 0) partial[get_group_id(0)] = sums[0];
}

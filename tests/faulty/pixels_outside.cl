// SPDX-License-Identifier: Apache-2.0
// Faulty: a pixel above the largest is counted behind the histogram, in global memory.
__kernel void count(__global const ushort *pixels, __global uint *bins) {
  const ushort pixel = pixels[get_global_id(0)];
  atomic_inc(&bins[pixel]);
}

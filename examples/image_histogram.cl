// SPDX-License-Identifier: Apache-2.0
// The histogram of one channel of an image with 8 bits a sample: a table of 256 counters in the local memory of each
// work-group, then added into the result with global atomics.

#define BINS 256  // an 8-bit sample has no other values, so none can miss the table

// Counts samples[first], samples[first + channels], … of `pixels` pixels. The host sets `histogram` to 0.
__kernel void image_histogram(__global const uchar* samples, ulong pixels, uint first, uint channels,
                              __global uint* histogram) {
  __local uint table[BINS];
  const uint item = (uint)get_local_id(0);
  const uint items = (uint)get_local_size(0);

  for (uint bin = item; bin < BINS; bin += items) table[bin] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  // All items of all groups walk over the image together, so any number of them will do.
  for (ulong pixel = get_global_id(0); pixel < pixels; pixel += get_global_size(0)) {
    atomic_inc(&table[samples[pixel * channels + first]]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // The stride is the size of the group, not of the grid: each group must merge all of its bins.
  for (uint bin = item; bin < BINS; bin += items) {
    if (table[bin] > 0) atomic_add(&histogram[bin], table[bin]);
  }
}

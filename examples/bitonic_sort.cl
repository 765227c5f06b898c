// SPDX-License-Identifier: Apache-2.0
// One pass of a bitonic sorting network, of any length. The host launches it for each pass of the schedule; what a pass
// is, it is told: no size stands in the kernel.

// Compares pair number i of the pass, and puts the greater value first. There are as many work-items as pairs, so none
// idles; those beyond `pairs` are there because a global size is rounded up.
//
// The values lie in blocks of twice the distance, a power of two. The first pass of a stage is mirrored: the last value of
// a block's first half is compared with the first of its second half, the one before with the one after, and so on. So
// the greater value goes to the lower place in every pass, and nothing ever moves to places at or after the end: pairs
// that reach there are left out, and the length need not be a power of two.
__kernel void compare_pairs(__global uint* values, ulong pairs, ulong distance, uint mirrored) {
  const ulong i = get_global_id(0);
  if (i >= pairs) return;
  const ulong within = i & (distance - 1);
  const ulong middle = 2 * (i - within) + distance;  // where the block's second half begins
  const ulong lower = mirrored != 0 ? middle - 1 - within : middle - distance + within;
  const ulong upper = middle + within;
  const uint a = values[lower];
  const uint b = values[upper];
  if (a < b) {  // of unsigned integers: a comparison as floats would take large ones for equal
    values[lower] = b;
    values[upper] = a;
  }
}

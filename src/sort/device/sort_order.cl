// SPDX-License-Identifier: Apache-2.0
// Whether keys are in order, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). sort_key.cl stands in front of
// this file.

// Whether key i and the next one belong to one of the segments between `offsets`.
inline bool together(const size_t i, __global const ulong *offsets, const ulong size) {
  if (i < offsets[0] || i + 1 >= offsets[size - 1]) return false;
  size_t low = 0;  // the last offset at or below i lies in [low, high)
  size_t high = size;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (offsets[middle] <= i) low = middle;
    else high = middle;
  }
  return i + 1 < offsets[low + 1];
}

// What neighbours among `count` keys are: 1 where some key comes after its successor in its row of `length` keys, or, where that
// is 0, in its segment; 2 where some key does not come after its successor.
__kernel void sort_neighbours(__global const uchar *restrict keys, const ulong keys_at, const ulong count,
                              const ulong length, __global const ulong *restrict offsets, const ulong size,
                              const uint flip, __global uchar *workspace, const ulong found_at) {
  __global const MASU_ELEMENT *const at = (__global const MASU_ELEMENT *)(keys + keys_at);
  const size_t stride = get_global_size(0);
  uint found = 0;
  for (size_t i = get_global_id(0); i + 1 < count && found != 3; i += stride) {
    const MASU_BITS key = sort_key(at[i]);
    const MASU_BITS next = sort_key(at[i + 1]);
    if (flip != 0 ? key >= next : key <= next) found |= 2;
    else if (length != 0 ? (i + 1) % length != 0 : together(i, offsets, size)) found |= 1;
  }
  if (found != 0) atomic_or((__global uint *)(workspace + found_at), found);
}

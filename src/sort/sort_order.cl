// SPDX-License-Identifier: Apache-2.0
// What stands beside an order, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++): indices that count, and
// whether keys are in order. sort_key.cl stands in front of this file.
//
// Defines beside those of sort_key.cl, all given by sort_plan.cpp:
#ifndef MASU_INDEX_BYTES      // 4 or 8
#error "MASU_INDEX_BYTES is not defined"
#endif

#if MASU_INDEX_BYTES == 4
#define MASU_INDEX uint
#else
#define MASU_INDEX ulong
#endif

// Indices that count: place i gets i.
__kernel void sort_iota(__global uchar *indices, const ulong indices_at, const ulong count) {
  const size_t i = get_global_id(0);
  if (i < count) ((__global MASU_INDEX *)(indices + indices_at))[i] = (MASU_INDEX)i;
}

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

// Sets `unsorted` where a key comes after its successor in its row of `length` keys, or, where that is 0, in its segment.
__kernel void sort_check(__global const uchar *restrict keys, const ulong keys_at, const ulong count,
                         const ulong length, __global const ulong *restrict offsets, const ulong size,
                         const uint flip, __global uint *unsorted) {
  __global const MASU_KEY *const at = (__global const MASU_KEY *)(keys + keys_at);
  const size_t stride = get_global_size(0);
  bool found = false;
  for (size_t i = get_global_id(0); i + 1 < count; i += stride) {
    const MASU_WIDE key = ordered_key(at[i]);
    const MASU_WIDE next = ordered_key(at[i + 1]);
    if (flip != 0 ? key < next : key > next) {
      found = found || (length != 0 ? (i + 1) % length != 0 : together(i, offsets, size));
    }
  }
  if (found) *unsorted = 1;
}

// What neighbours among `count` keys are: 1 where some key comes after its successor, 2 where some does not.
__kernel void sort_neighbours(__global const uchar *restrict keys, const ulong keys_at, const ulong count,
                              const uint flip, __global uchar *scratch, const ulong found_at) {
  __global const MASU_KEY *const at = (__global const MASU_KEY *)(keys + keys_at);
  const size_t stride = get_global_size(0);
  uint found = 0;
  for (size_t i = get_global_id(0); i + 1 < count && found != 3; i += stride) {
    const MASU_WIDE key = ordered_key(at[i]);
    const MASU_WIDE next = ordered_key(at[i + 1]);
    found |= (flip != 0 ? key < next : key > next) ? 1 : 2;
  }
  if (found != 0) atomic_or((__global uint *)(scratch + found_at), found);
}

// SPDX-License-Identifier: Apache-2.0
// 64-bit totals in two 32-bit words, the low one first, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).

// Adds a number modulo 2^64. Without 64-bit atomics whoever makes the low word wrap adds the carry, and waits for what it was; so
// does NVIDIA's OpenCL, where sums are read in the same launch.
inline void add_total(__global uint *total, const ulong number) {
#ifdef MASU_ADDS_LONG
  masu_add_long((__global ulong *)total, number);
#else
  const uint low = (uint)number;
  uint high = (uint)(number >> 32);
  if (low != 0) high += atomic_add(total, low) > UINT_MAX - low ? 1u : 0u;
  if (high != 0) atomic_add(total + 1, high);
#endif
}

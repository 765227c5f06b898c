// SPDX-License-Identifier: Apache-2.0
// The order of keys, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). Behind elements.cl and order.cl, in front of
// the other kernel files of this room. An element is a key.
//
// Defines beside those of elements.cl, given by sort_kernels.cpp:
// - MASU_DESCENDING  1: greater keys come first

// Bits of a key that comes last whatever else there is: among equals, too, if it stands last.
#if MASU_FLOAT
#define MASU_LAST (MASU_DESCENDING ? MASU_INFINITY_BITS | MASU_SIGN : MASU_ALL_BITS)
#elif MASU_SIGNED
#define MASU_LAST (MASU_DESCENDING ? MASU_SIGN : MASU_SIGN - 1)
#else
#define MASU_LAST (MASU_DESCENDING ? 0 : MASU_ALL_BITS)
#endif

// The unsigned integer that is ordered as keys are sorted.
inline MASU_BITS sort_key(const MASU_BITS bits) {
  return MASU_DESCENDING ? ordered_key(bits) ^ MASU_ALL_BITS : ordered_key(bits);
}

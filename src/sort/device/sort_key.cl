// SPDX-License-Identifier: Apache-2.0
// The order of keys, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After elements.cl and order.cl, before
// the other kernel files of this room. An element is a key.
//
// kernels.md has the parameters, which sort_device.h gives.

// The unsigned integer that is ordered as keys are sorted.
inline MASU_BITS sort_key(const MASU_BITS bits) {
  return MASU_DESCENDING ? ordered_key(bits) ^ MASU_ALL_BITS : ordered_key(bits);
}

// An unsigned integer for each key, from which it can be found again. They have the order of keys, but floats that are equal
// have different ones, and NaNs with a minus come first.
inline MASU_BITS distinct_key(const MASU_BITS bits) {
#if MASU_FLOAT
  return bits ^ ((bits & MASU_SIGN) != 0 ? MASU_ALL_BITS : MASU_SIGN);
#elif MASU_SIGNED
  return bits ^ MASU_SIGN;
#else
  return bits;
#endif
}
inline MASU_BITS bits_of_distinct(const MASU_BITS key) {
#if MASU_FLOAT
  return key ^ ((key & MASU_SIGN) != 0 ? MASU_SIGN : MASU_ALL_BITS);
#else
  return distinct_key(key);
#endif
}

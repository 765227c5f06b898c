// SPDX-License-Identifier: Apache-2.0
// The order of keys, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After elements.cl and order.cl, before
// the other kernel files of this room. An element is a key.
//
// kernels.md has the parameters, which sort_device.h gives.

#define SORT_AT(type, at) ((__global type *)(workspace + (at)))

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
// The bits of the value that has a place among all values, NaNs last, or first where `flip` is MASU_ALL_BITS and not 0: what is
// equal stands side by side.
inline MASU_BITS bits_of_rank(const MASU_BITS rank, const MASU_BITS flip) {
  return bits_of_distinct(((rank ^ flip) + (MASU_FLOAT ? MASU_SIGN - 1 - MASU_INFINITY_BITS : 0)) & MASU_ALL_BITS);
}

// Whether the bits are those of a zero or a NaN, of which several are equal.
#if MASU_FLOAT
#define SORT_IS_SPECIAL(bits) (((((MASU_BITS)(bits)) << 1) - 1 & MASU_ALL_BITS) >= MASU_INFINITY_BITS * 2)
#else
#define SORT_IS_SPECIAL(bits) false
#endif
inline bool is_nan(const MASU_BITS bits) { return (bits & (MASU_SIGN - 1)) != 0; }  // of these

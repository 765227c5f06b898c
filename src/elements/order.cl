// SPDX-License-Identifier: Apache-2.0
// The order of elements, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After elements.cl. The host's half
// is order.h.

// The unsigned integer whose order is the element's order: both zeros are one, all NaNs are one, the greatest.
inline MASU_BITS ordered_key(const MASU_BITS bits) {
#if MASU_FLOAT
  const MASU_BITS magnitude = bits & (MASU_SIGN - 1);
  if (magnitude > MASU_INFINITY_BITS) return MASU_ALL_BITS;
  return (bits & MASU_SIGN) != 0 ? MASU_SIGN - magnitude : MASU_SIGN + magnitude;
#elif MASU_SIGNED
  return bits ^ MASU_SIGN;
#else
  return bits;
#endif
}

// The element that has a key, which is not NaN's; +0 of the zeros.
inline MASU_BITS bits_of_key(const MASU_BITS key) {
#if MASU_FLOAT
  return (key & MASU_SIGN) != 0 ? key ^ MASU_SIGN : MASU_SIGN | (MASU_SIGN - key);
#elif MASU_SIGNED
  return key ^ MASU_SIGN;
#else
  return key;
#endif
}

// The rank of an element that competes to be the least or the `largest`: lower wins. NaNs win, or with `skip` lose.
inline MASU_BITS extreme_rank(const MASU_BITS bits, const uint largest, const uint skip) {
  const MASU_BITS key = ordered_key(bits);
#if MASU_FLOAT
  if (key == MASU_ALL_BITS) return skip != 0 ? MASU_ALL_BITS : 0;
#endif
  return largest != 0 ? key ^ MASU_ALL_BITS : key;
}

// What an element's key does not hold or what decides more than its own place: whether it is NaN, or a zero with a sign.
#define ORDER_SEEN_NAN 1u
#define ORDER_SEEN_MINUS 2u
inline uint seen_of(const MASU_BITS bits) {
#if MASU_FLOAT
  const MASU_BITS magnitude = bits & (MASU_SIGN - 1);
  return magnitude > MASU_INFINITY_BITS ? ORDER_SEEN_NAN : bits == MASU_SIGN ? ORDER_SEEN_MINUS : 0u;
#else
  return 0;
#endif
}

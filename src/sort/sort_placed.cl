// SPDX-License-Identifier: Apache-2.0
// Keys as sort_keys.cl moves them, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++): *placed keys*, unsigned
// integers of the same width that ascend in the order that is asked for. Integers and floats other than zeros and NaNs have
// one each, and can be found again from it. Zeros and NaNs have none: they do not move (sort_special.cl). sort_key.cl, for
// the dtype of the keys, stands in front of this file.

#if MASU_KEY_CLASS == 2
// Whether the bits are those of a zero or a NaN.
#define MASU_IS_SPECIAL(bits) (((bits) << 1) - 1 >= (MASU_KEY)MASU_INFINITE * 2)
#else
#define MASU_IS_SPECIAL(bits) false
#endif

// `flip` is MASU_ALL where greater keys come first, else 0.
inline MASU_KEY placed_key(const MASU_KEY bits, const MASU_KEY flip) {
#if MASU_KEY_CLASS == 0
  return bits ^ flip;
#elif MASU_KEY_CLASS == 1
  return bits ^ (MASU_SIGN ^ flip);
#else
  return ((bits & MASU_SIGN) != 0 ? ~bits : bits ^ MASU_SIGN) ^ flip;
#endif
}

// The bits of a placed key.
inline MASU_KEY natural_key(const MASU_KEY placed, const MASU_KEY flip) {
  const MASU_KEY key = placed ^ flip;
#if MASU_KEY_CLASS == 0
  return key;
#elif MASU_KEY_CLASS == 1
  return key ^ MASU_SIGN;
#else
  return (key & MASU_SIGN) != 0 ? key ^ MASU_SIGN : ~key;
#endif
}

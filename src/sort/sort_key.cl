// SPDX-License-Identifier: Apache-2.0
// Keys: how they lie in memory and how they are ordered, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).
// Stands in front of the other kernel files of this room.
//
// Defines, all given by sort_plan.cpp:
#ifndef MASU_KEY_BYTES        // 1, 2, 4 or 8
#error "MASU_KEY_BYTES is not defined"
#endif
#ifndef MASU_KEY_CLASS        // 0: unsigned integers, 1: signed integers, 2: floats
#error "MASU_KEY_CLASS is not defined"
#endif
#ifndef MASU_DESCENDING       // 1: greater keys come first
#error "MASU_DESCENDING is not defined"
#endif

#if MASU_KEY_BYTES == 1
#define MASU_KEY uchar
#define MASU_WIDE uint
#define MASU_SIGN 0x80U
#define MASU_ALL 0xffU
#elif MASU_KEY_BYTES == 2
#define MASU_KEY ushort
#define MASU_WIDE uint
#define MASU_SIGN 0x8000U
#define MASU_ALL 0xffffU
#define MASU_INFINITE 0x7c00U
#elif MASU_KEY_BYTES == 4
#define MASU_KEY uint
#define MASU_WIDE uint
#define MASU_SIGN 0x80000000U
#define MASU_ALL 0xffffffffU
#define MASU_INFINITE 0x7f800000U
#else
#define MASU_KEY ulong
#define MASU_WIDE ulong
#define MASU_SIGN 0x8000000000000000UL
#define MASU_ALL 0xffffffffffffffffUL
#define MASU_INFINITE 0x7ff0000000000000UL
#endif

// Bits of a key that comes last whatever else there is: among equals, too, if it stands last.
#if MASU_KEY_CLASS == 0
#define MASU_LAST (MASU_DESCENDING ? 0 : MASU_ALL)
#elif MASU_KEY_CLASS == 1
#define MASU_LAST (MASU_DESCENDING ? MASU_SIGN : MASU_SIGN - 1)
#else
#define MASU_LAST (MASU_DESCENDING ? MASU_INFINITE | MASU_SIGN : MASU_ALL)
#endif

// The key as an unsigned integer that is ordered as keys are: both zeros are one, all NaNs are one, the greatest.
// sort_key() in sort_key.h is the same function.
inline MASU_WIDE ordered_key(const MASU_KEY bits) {
#if MASU_KEY_CLASS == 0
  const MASU_WIDE key = bits;
#elif MASU_KEY_CLASS == 1
  const MASU_WIDE key = bits ^ MASU_SIGN;
#else
  const MASU_WIDE magnitude = bits & (MASU_SIGN - 1);
  const MASU_WIDE number = (bits & MASU_SIGN) != 0 ? MASU_SIGN - magnitude : MASU_SIGN + magnitude;
  const MASU_WIDE key = magnitude > MASU_INFINITE ? MASU_ALL : number;
#endif
  return MASU_DESCENDING ? key ^ MASU_ALL : key;
}

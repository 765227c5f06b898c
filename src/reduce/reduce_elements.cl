// SPDX-License-Identifier: Apache-2.0
// Elements, how they lie in memory and how they are ordered, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA
// C++). Stands in front of src/scan's kernel files, which have not changed to elements.cl and order.cl.
//
// Defines, all given by scan_plan.cpp:
#ifndef MASU_BYTES            // of an element: 1, 2, 4 or 8
#error "MASU_BYTES is not defined"
#endif
#ifndef MASU_FLOAT            // 1: elements are floats
#error "MASU_FLOAT is not defined"
#endif
#ifndef MASU_SIGNED           // 1: signed integers
#error "MASU_SIGNED is not defined"
#endif
#ifndef MASU_SKIP             // 1: NaNs are left out
#error "MASU_SKIP is not defined"
#endif

#if MASU_BYTES == 8
#define MASU_WIDE ulong       // holds an element
#define MASU_ALL 0xffffffffffffffffUL
#define MASU_INFINITE 0x7ff0000000000000UL
#else
#define MASU_WIDE uint
#if MASU_BYTES == 4
#define MASU_ALL 0xffffffffU
#define MASU_INFINITE 0x7f800000U
#elif MASU_BYTES == 2
#define MASU_ALL 0xffffU
#define MASU_INFINITE 0x7c00U
#else
#define MASU_ALL 0xffU
#define MASU_INFINITE 0U
#endif
#endif
#define MASU_SIGN (MASU_ALL ^ (MASU_ALL >> 1))
#define MASU_PER_VECTOR (16 / MASU_BYTES)

inline MASU_WIDE element_at(__global const uchar *data, const size_t i) {
#if MASU_BYTES == 1
  return data[i];
#elif MASU_BYTES == 2
  return ((__global const ushort *)data)[i];
#elif MASU_BYTES == 4
  return ((__global const uint *)data)[i];
#else
  return ((__global const ulong *)data)[i];
#endif
}

// An unsigned number that is ordered as elements are, both zeros one and all NaNs the greatest.
inline MASU_WIDE key_of(const MASU_WIDE bits) {
#if MASU_FLOAT
  const MASU_WIDE magnitude = bits & (MASU_SIGN - 1);
  if (magnitude > MASU_INFINITE) return MASU_ALL;
  return (bits & MASU_SIGN) != 0 ? MASU_SIGN - magnitude : MASU_SIGN + magnitude;
#elif MASU_SIGNED
  return bits ^ MASU_SIGN;
#else
  return bits;
#endif
}

// The less the better, as ExtremeRule has it.
inline MASU_WIDE rank_of(const MASU_WIDE bits, const uint largest) {
  const MASU_WIDE key = key_of(bits);
#if MASU_FLOAT
  if (key == MASU_ALL) return MASU_SKIP ? MASU_ALL : 0;
#endif
  return largest != 0 ? key ^ MASU_ALL : key;
}

// Elements from `data` on lie in 16-byte vectors, the first of which may hold others in front: element e is part of
// vector (e + gap) / MASU_PER_VECTOR.
inline uint gap_of(__global const uchar *data) { return (uint)((size_t)data & 15) / MASU_BYTES; }

// SPDX-License-Identifier: Apache-2.0
// Elements as ranks: unsigned numbers that are the greater the earlier an element comes; elements of one rank are equal
// and come by index. Kernels of this room and of the room quantile use it. The host's twin is topk_rank.h.
//
// Defines, all given by topk_plan.cpp:
#ifndef MASU_VALUE        // how elements are compared: a type
#error "MASU_VALUE is not defined"
#endif
#ifndef MASU_AS_VALUE     // bits to it
#error "MASU_AS_VALUE is not defined"
#endif
#ifndef MASU_VALUE_BYTES  // of an element
#error "MASU_VALUE_BYTES is not defined"
#endif
#ifndef MASU_FLOAT        // 1: elements are floats
#error "MASU_FLOAT is not defined"
#endif
#ifndef MASU_SIGNED       // 1: signed integers
#error "MASU_SIGNED is not defined"
#endif
#ifndef MASU_LARGEST      // 1: the largest comes first; 0: the smallest
#error "MASU_LARGEST is not defined"
#endif
#ifndef MASU_NAN_FIRST    // 1: NaN comes before all else; 0: after
#error "MASU_NAN_FIRST is not defined"
#endif

#ifndef MASU_GPU          // 1: arrays may lie in registers, and loops over them are unrolled
#error "MASU_GPU is not defined"
#endif

#if MASU_GPU
#define MASU_UNROLLED MASU_PRAGMA_UNROLL
#else
#define MASU_UNROLLED
#endif
#if MASU_VALUE_BYTES == 8
#define MASU_BITS ulong
#define MASU_ALL_BITS ULONG_MAX
#define MASU_INFINITY_BITS 0x7ff0000000000000ul
#else
#define MASU_BITS uint
#if MASU_VALUE_BYTES == 4
#define MASU_ALL_BITS UINT_MAX
#define MASU_INFINITY_BITS 0x7f800000u
#elif MASU_VALUE_BYTES == 2
#define MASU_ALL_BITS 0xffffu
#define MASU_INFINITY_BITS 0x7c00u
#else
#define MASU_ALL_BITS 0xffu
#define MASU_INFINITY_BITS 0u
#endif
#endif
#define MASU_SIGN (MASU_ALL_BITS ^ (MASU_ALL_BITS >> 1))
#define MASU_NAN_RANK (MASU_NAN_FIRST ? MASU_ALL_BITS : (MASU_BITS)0)
#define MASU_FLIP (MASU_LARGEST ? (MASU_BITS)0 : MASU_ALL_BITS)
#define MASU_PER_VECTOR (16 / MASU_VALUE_BYTES)

inline MASU_BITS rank_of(const MASU_BITS bits) {
#if MASU_FLOAT
  if ((bits & ~MASU_SIGN) > MASU_INFINITY_BITS) return MASU_NAN_RANK;
  if (bits == MASU_SIGN) return bits ^ MASU_FLIP;  // -0 as +0
  return ((bits & MASU_SIGN) != 0 ? bits ^ MASU_ALL_BITS : bits | MASU_SIGN) ^ MASU_FLIP;
#elif MASU_SIGNED
  return bits ^ MASU_SIGN ^ MASU_FLIP;
#else
  return bits ^ MASU_FLIP;
#endif
}

// Of a rank that is not NaN's.
inline MASU_BITS bits_of_rank(const MASU_BITS rank) {
  const MASU_BITS key = rank ^ MASU_FLIP;
#if MASU_FLOAT
  return (key & MASU_SIGN) != 0 ? key ^ MASU_SIGN : key ^ MASU_ALL_BITS;
#elif MASU_SIGNED
  return key ^ MASU_SIGN;
#else
  return key;
#endif
}

inline MASU_BITS element_at(__global const uchar *bytes, const size_t i) {
#if MASU_VALUE_BYTES == 1
  return bytes[i];
#elif MASU_VALUE_BYTES == 2
  return ((__global const ushort *)bytes)[i];
#elif MASU_VALUE_BYTES == 4
  return ((__global const uint *)bytes)[i];
#else
  return ((__global const ulong *)bytes)[i];
#endif
}
inline void set_element(__global uchar *bytes, const size_t i, const MASU_BITS bits) {
#if MASU_VALUE_BYTES == 1
  bytes[i] = (uchar)bits;
#elif MASU_VALUE_BYTES == 2
  ((__global ushort *)bytes)[i] = (ushort)bits;
#elif MASU_VALUE_BYTES == 4
  ((__global uint *)bytes)[i] = bits;
#else
  ((__global ulong *)bytes)[i] = bits;
#endif
}

// Hands every element of a 16-byte vector to MASU_EACH(bits, number).
#if MASU_VALUE_BYTES == 1
#define MASU_EACH_OF_WORD(w, n) \
  MASU_EACH((w) & 255u, n) MASU_EACH((w) >> 8 & 255u, n + 1) MASU_EACH((w) >> 16 & 255u, n + 2) MASU_EACH((w) >> 24, n + 3)
#define MASU_EACH_OF(v) MASU_EACH_OF_WORD(v.x, 0) MASU_EACH_OF_WORD(v.y, 4) MASU_EACH_OF_WORD(v.z, 8) MASU_EACH_OF_WORD(v.w, 12)
#elif MASU_VALUE_BYTES == 2
#define MASU_EACH_OF_WORD(w, n) MASU_EACH((w) & 65535u, n) MASU_EACH((w) >> 16, n + 1)
#define MASU_EACH_OF(v) MASU_EACH_OF_WORD(v.x, 0) MASU_EACH_OF_WORD(v.y, 2) MASU_EACH_OF_WORD(v.z, 4) MASU_EACH_OF_WORD(v.w, 6)
#elif MASU_VALUE_BYTES == 4
#define MASU_EACH_OF(v) MASU_EACH(v.x, 0) MASU_EACH(v.y, 1) MASU_EACH(v.z, 2) MASU_EACH(v.w, 3)
#else
#define MASU_EACH_OF(v) MASU_EACH((ulong)v.y << 32 | v.x, 0) MASU_EACH((ulong)v.w << 32 | v.z, 1)
#endif

// `count` elements that start `byte_offset` bytes into a memory lie in 16-byte vectors, the first and the last of which
// may hold fewer of them: element e is part of vector (e + gap) / MASU_PER_VECTOR.
inline uint gap_of(__global const uchar *bytes) { return (uint)((size_t)bytes & 15) / MASU_VALUE_BYTES; }

// Vector number `vector`; where it holds elements of others, those are zeros.
inline uint4 load_vector(__global const uchar *bytes, const uint gap, const uint count, const ulong vector) {
  const long first = (long)(vector * MASU_PER_VECTOR) - (long)gap;
  if (first >= 0 && first + MASU_PER_VECTOR <= (long)count) {
    return masu_load_streaming((__global const uint4 *)(bytes + first * MASU_VALUE_BYTES));
  }
  uint words[4] = {0, 0, 0, 0};
  for (int i = 0; i < MASU_PER_VECTOR; ++i) {
    const long e = first + i;
    if (e < 0 || e >= (long)count) continue;
    const MASU_BITS bits = element_at(bytes, (size_t)e);
#if MASU_VALUE_BYTES == 8
    words[2 * i] = (uint)bits;
    words[2 * i + 1] = (uint)(bits >> 32);
#else
    words[i * MASU_VALUE_BYTES / 4] |= bits << (i * MASU_VALUE_BYTES % 4 * 8);
#endif
  }
  uint4 v;
  v.x = words[0];
  v.y = words[1];
  v.z = words[2];
  v.w = words[3];
  return v;
}

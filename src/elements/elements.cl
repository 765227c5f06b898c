// SPDX-License-Identifier: Apache-2.0
// Elements as they lie in memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). Stands in front of the
// kernel files that use it.
//
// kernels.md has the parameters, which element_defines() in elements.h gives.

#define MASU_SIGNED (MASU_ELEMENT_CLASS == 1)
#define MASU_FLOAT (MASU_ELEMENT_CLASS == 2)
// Floats that are only stored; kernels compute with them as with float.
#define MASU_STORED (MASU_FLOAT && MASU_ELEMENT_BYTES < 4)
// The bits of a float's fraction, of its infinity and of its quiet NaN; the first two are 0 for integers.
#define MASU_FRACTION (MASU_FLOAT ? 8 * MASU_ELEMENT_BYTES - 1 - MASU_EXPONENT_BITS : 0)
#define MASU_INFINITY_BITS ((((MASU_BITS)1 << MASU_EXPONENT_BITS) - 1) << MASU_FRACTION)
#define MASU_QUIET_NAN (MASU_INFINITY_BITS | (MASU_BITS)1 << (MASU_FRACTION - 1))
#define MASU_PER_VECTOR (16 / MASU_ELEMENT_BYTES)
// The value of a number by the upper half of a float's bits.
#define masu_bfloat16_value(bits) as_float((uint)(bits) << 16)

// MASU_ELEMENT is an element in memory, MASU_BITS holds one in registers.
#if MASU_ELEMENT_BYTES == 8
#define MASU_ELEMENT ulong
#define MASU_BITS ulong
#define MASU_ALL_BITS 0xffffffffffffffffUL
#else
#define MASU_BITS uint
#if MASU_ELEMENT_BYTES == 4
#define MASU_ELEMENT uint
#define MASU_ALL_BITS 0xffffffffU
#elif MASU_ELEMENT_BYTES == 2
#define MASU_ELEMENT ushort
#define MASU_ALL_BITS 0xffffU
#else
#define MASU_ELEMENT uchar
#define MASU_ALL_BITS 0xffU
#endif
#endif
#define MASU_SIGN (MASU_ALL_BITS ^ (MASU_ALL_BITS >> 1))

// The value of a stored float of any format by its bits, exactly.
#if MASU_STORED && MASU_EXPONENT_BITS == 8
#define masu_stored_value(bits) masu_bfloat16_value(bits)
#elif MASU_STORED && MASU_EXPONENT_BITS == 5
#define masu_stored_value(bits) masu_half_value(bits)
#elif MASU_STORED
inline float masu_stored_value(const uint bits) {
  const uint magnitude = (bits & (MASU_SIGN - 1)) << (23 - MASU_FRACTION);
  const bool finite = magnitude < (uint)MASU_INFINITY_BITS << (23 - MASU_FRACTION);
  const float scale = as_float((uint)(255 - (1 << (MASU_EXPONENT_BITS - 1))) << 23);
  const float x = finite ? as_float(magnitude) * scale : as_float(magnitude | 0x7f800000u);
  return (bits & MASU_SIGN) != 0 ? -x : x;
}
#endif

inline MASU_BITS element_at(__global const uchar *bytes, const size_t i) {
  return ((__global const MASU_ELEMENT *)bytes)[i];
}
inline void set_element(__global uchar *bytes, const size_t i, const MASU_BITS bits) {
  ((__global MASU_ELEMENT *)bytes)[i] = (MASU_ELEMENT)bits;
}

// Elements from `bytes` on lie in vectors of 16 bytes, the first of which may hold others in front: element e is part of
// vector (e + gap) / MASU_PER_VECTOR.
inline uint gap_of(__global const uchar *bytes) { return (uint)((size_t)bytes & 15) / MASU_ELEMENT_BYTES; }

// The words of a vector, the lowest first, and back.
MASU_INLINE void words_of_vector(const uint4 v, uint *words) {
  words[0] = v.x;
  words[1] = v.y;
  words[2] = v.z;
  words[3] = v.w;
}
MASU_INLINE uint4 vector_of(const uint *words) {
  uint4 v;
  v.x = words[0];
  v.y = words[1];
  v.z = words[2];
  v.w = words[3];
  return v;
}
// Element k of words.
MASU_INLINE MASU_BITS element_of(const uint *words, const uint k) {
#if MASU_ELEMENT_BYTES == 8
  return (ulong)words[2 * k + 1] << 32 | words[2 * k];
#elif MASU_ELEMENT_BYTES == 4
  return words[k];
#else
  return words[k * MASU_ELEMENT_BYTES / 4] >> (k * MASU_ELEMENT_BYTES % 4 * 8) & MASU_ALL_BITS;
#endif
}

// Puts number k into words that hold numbers of so many bytes, a constant; its bits are 0 before.
MASU_INLINE void put_part_of(uint *words, const uint k, const uint bytes, const ulong x) {
  if (bytes == 8) words[2 * k + 1] = (uint)(x >> 32);
  if (bytes >= 4) words[k * bytes / 4] = (uint)x;
  else words[k * bytes / 4] |= (uint)x << k * bytes % 4 * 8;
}
// Changes element k of words.
MASU_INLINE void set_element_of(uint *words, const uint k, const MASU_BITS x) {
#if MASU_ELEMENT_BYTES < 4
  words[k * MASU_ELEMENT_BYTES / 4] &= ~(MASU_ALL_BITS << k * MASU_ELEMENT_BYTES % 4 * 8);
#endif
  put_part_of(words, k, MASU_ELEMENT_BYTES, x);
}

// MASU_PER_VECTOR elements at any alignment, as the words of a vector.
inline uint4 load_elements(__global const uchar *bytes) {
  uint4 v;
#if MASU_ELEMENT_BYTES >= 4
  __global const uint *words = (__global const uint *)bytes;
  v.x = words[0];
  v.y = words[1];
  v.z = words[2];
  v.w = words[3];
#elif MASU_ELEMENT_BYTES == 2
  v.x = element_at(bytes, 0) | element_at(bytes, 1) << 16;
  v.y = element_at(bytes, 2) | element_at(bytes, 3) << 16;
  v.z = element_at(bytes, 4) | element_at(bytes, 5) << 16;
  v.w = element_at(bytes, 6) | element_at(bytes, 7) << 16;
#else
  v.x = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint)bytes[3] << 24;
  v.y = bytes[4] | bytes[5] << 8 | bytes[6] << 16 | (uint)bytes[7] << 24;
  v.z = bytes[8] | bytes[9] << 8 | bytes[10] << 16 | (uint)bytes[11] << 24;
  v.w = bytes[12] | bytes[13] << 8 | bytes[14] << 16 | (uint)bytes[15] << 24;
#endif
  return v;
}

// Hands every element of a vector to MASU_EACH(bits, number).
#if MASU_ELEMENT_BYTES == 1
#define MASU_EACH_OF_WORD(w, n) \
  MASU_EACH((w) & 255u, n) MASU_EACH((w) >> 8 & 255u, n + 1) MASU_EACH((w) >> 16 & 255u, n + 2) MASU_EACH((w) >> 24, n + 3)
#define MASU_EACH_OF(v) MASU_EACH_OF_WORD(v.x, 0) MASU_EACH_OF_WORD(v.y, 4) MASU_EACH_OF_WORD(v.z, 8) MASU_EACH_OF_WORD(v.w, 12)
#elif MASU_ELEMENT_BYTES == 2
#define MASU_EACH_OF_WORD(w, n) MASU_EACH((w) & 65535u, n) MASU_EACH((w) >> 16, n + 1)
#define MASU_EACH_OF(v) MASU_EACH_OF_WORD(v.x, 0) MASU_EACH_OF_WORD(v.y, 2) MASU_EACH_OF_WORD(v.z, 4) MASU_EACH_OF_WORD(v.w, 6)
#elif MASU_ELEMENT_BYTES == 4
#define MASU_EACH_OF(v) MASU_EACH(v.x, 0) MASU_EACH(v.y, 1) MASU_EACH(v.z, 2) MASU_EACH(v.w, 3)
#else
#define MASU_EACH_OF(v) MASU_EACH((ulong)v.y << 32 | v.x, 0) MASU_EACH((ulong)v.w << 32 | v.z, 1)
#endif

// Vector number `vector` of `count` elements. Places outside the elements are zeros.
inline uint4 load_vector(__global const uchar *bytes, const uint gap, const uint count, const ulong vector) {
  const long first = (long)(vector * MASU_PER_VECTOR) - (long)gap;
  if (first >= 0 && first + MASU_PER_VECTOR <= (long)count) {
    return masu_load_streaming((__global const uint4 *)(bytes + first * MASU_ELEMENT_BYTES));
  }
  uint words[4] = {0, 0, 0, 0};
  for (int i = 0; i < MASU_PER_VECTOR; ++i) {
    const long e = first + i;
    if (e < 0 || e >= (long)count) continue;
    const MASU_BITS bits = element_at(bytes, (size_t)e);
#if MASU_ELEMENT_BYTES == 8
    words[2 * i] = (uint)bits;
    words[2 * i + 1] = (uint)(bits >> 32);
#else
    words[i * MASU_ELEMENT_BYTES / 4] |= bits << (i * MASU_ELEMENT_BYTES % 4 * 8);
#endif
  }
  return vector_of(words);
}

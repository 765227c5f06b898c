// SPDX-License-Identifier: Apache-2.0
// Elements of one dtype as another, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After
// elements.cl, whose element is the source's, and first_position.cl.
//
// Whatever makes a float is done on bits, so it is right on devices that flush subnormals and on those without fp64; on
// NVIDIA's, whose instructions round as is asked for, NaNs and what overflows are done on bits, the rest by instructions.
//
// kernels.md has the parameters, which convert_plan.cpp gives.

#define CONVERT_SOURCE_BITS (8 * MASU_ELEMENT_BYTES)
#if MASU_TARGET_BITS == 64
#define CONVERT_TARGET ulong
#else
#define CONVERT_TARGET uint
#endif

#if MASU_TARGET_BITS == 8
#define CONVERT_TARGET_ELEMENT uchar
#elif MASU_TARGET_BITS == 16
#define CONVERT_TARGET_ELEMENT ushort
#else
#define CONVERT_TARGET_ELEMENT CONVERT_TARGET
#endif

#if MASU_ELEMENT_CLASS == 1
#if CONVERT_SOURCE_BITS == 64
#define CONVERT_INTEGER long
#define CONVERT_INTEGER_OF(bits) ((long)(bits))
#else
#define CONVERT_INTEGER int
#define CONVERT_INTEGER_OF(bits) ((int)((bits) << (32 - CONVERT_SOURCE_BITS)) >> (32 - CONVERT_SOURCE_BITS))
#endif
#elif MASU_ELEMENT_CLASS == 0
#define CONVERT_INTEGER MASU_BITS
#define CONVERT_INTEGER_OF(bits) (bits)
#endif

#if MASU_ELEMENT_CLASS == 2
#define CONVERT_SOURCE_BIAS ((1 << (CONVERT_SOURCE_BITS - 2 - MASU_FRACTION)) - 1)
#define CONVERT_SOURCE_MASK (((MASU_BITS)1 << MASU_FRACTION) - 1)
// The first magnitude that is no finite number.
#if MASU_FINITE
#define CONVERT_SOURCE_END (MASU_SIGN - 1)
#else
#define CONVERT_SOURCE_END MASU_INFINITY_BITS
#endif
#if CONVERT_SOURCE_BITS == 8
// IEEE binary16 has the fraction's bits in front. Where it has more of exponent, the number is 2^8 times as large.
inline float float8_value(const uint bits) {
  const uint magnitude = bits & 0x7fu;
#if MASU_FINITE
  const float x = masu_half_value(magnitude << 7) * 256.0f;
  if (magnitude == 0x7fu) return as_float(0x7fc00000u);
#else
  const float x = masu_half_value(magnitude << 8);
#endif
  return (bits & 0x80u) != 0 ? -x : x;
}
#endif
#endif

#if MASU_NEGATE

inline CONVERT_TARGET converted(const MASU_BITS source, uint *bad) { return source ^ MASU_SIGN; }

#elif MASU_TRUTH

inline CONVERT_TARGET converted(const MASU_BITS source, uint *bad) { return source != 0; }

#elif MASU_TARGET_KIND == 2

#define CONVERT_TARGET_SIGN ((CONVERT_TARGET)1 << (MASU_TARGET_BITS - 1))
#define CONVERT_TARGET_EXPONENTS ((1 << (MASU_TARGET_BITS - 1 - MASU_TARGET_FRACTION)) - 1)
#define CONVERT_TARGET_BIAS (CONVERT_TARGET_EXPONENTS >> 1)
#define CONVERT_TARGET_INFINITY ((CONVERT_TARGET)CONVERT_TARGET_EXPONENTS << MASU_TARGET_FRACTION)

#define CONVERT_TARGET_EXPONENT_BITS (MASU_TARGET_BITS - 1 - MASU_TARGET_FRACTION)
// The instructions of all architectures know one format of 16 bits, IEEE binary16, and none of 8.
#define CONVERT_WITHOUT_INSTRUCTION                                                     \
  ((MASU_TARGET_BITS == 16 && CONVERT_TARGET_EXPONENT_BITS != 5) ||                     \
   (MASU_ELEMENT_CLASS == 2 && CONVERT_SOURCE_BITS == 16 && MASU_EXPONENT_BITS != 5) || \
   (MASU_ELEMENT_CLASS == 2 && CONVERT_SOURCE_BITS == 8))
#if (defined(MASU_CUDA) || defined(__NV_CL_C_VERSION)) && !CONVERT_WITHOUT_INSTRUCTION
#define CONVERT_NATIVE 1
#else
#define CONVERT_NATIVE 0
#endif

#if CONVERT_NATIVE
#if MASU_TARGET_BITS == 16
#define CONVERT_RESULT ushort
#define CONVERT_BITS_OF(x) (x)
#elif MASU_TARGET_BITS == 32
#define CONVERT_RESULT float
#define CONVERT_BITS_OF(x) as_uint(x)
#else
#define CONVERT_RESULT double
#define CONVERT_BITS_OF(x) as_ulong(x)
#endif
#if MASU_ELEMENT_CLASS != 2
#define CONVERT_OPERAND CONVERT_INTEGER
#define CONVERT_OPERAND_OF(bits) CONVERT_INTEGER_OF(bits)
#elif CONVERT_SOURCE_BITS == 16
#define CONVERT_OPERAND ushort
#define CONVERT_OPERAND_OF(bits) ((ushort)(bits))
#elif CONVERT_SOURCE_BITS == 32
#define CONVERT_OPERAND float
#define CONVERT_OPERAND_OF(bits) as_float(bits)
#else
#define CONVERT_OPERAND double
#define CONVERT_OPERAND_OF(bits) as_double(bits)
#endif

// A value that is neither NaN nor overflows.
inline CONVERT_TARGET rounded(const MASU_BITS source, const uint negative, const MASU_BITS magnitude) {
  const CONVERT_OPERAND x = CONVERT_OPERAND_OF(source);
  CONVERT_RESULT y;
  asm(MASU_INSTRUCTION " %0, %1;" : MASU_INSTRUCTION_OUT(y) : MASU_INSTRUCTION_IN(x));
  return CONVERT_BITS_OF(y);
}
#else
// `bits`, or their successor where the rounding wants it; the rest is a part of 2^64.
inline CONVERT_TARGET with_rest(const ulong bits, const ulong rest, const uint negative) {
#if MASU_ROUNDING == 0
  const ulong half_place = (ulong)1 << 63;
  return (CONVERT_TARGET)(bits + (rest > half_place || (rest == half_place && (bits & 1) != 0)));
#elif MASU_ROUNDING == 2
  return (CONVERT_TARGET)(bits + (!negative && rest != 0));
#elif MASU_ROUNDING == 3
  return (CONVERT_TARGET)(bits + (negative && rest != 0));
#else
  return (CONVERT_TARGET)bits;
#endif
}

inline CONVERT_TARGET rounded(const MASU_BITS source, const uint negative, const MASU_BITS magnitude) {
  const CONVERT_TARGET sign = negative ? CONVERT_TARGET_SIGN : 0;
#if MASU_ELEMENT_CLASS == 2 && MASU_EXPONENT_BITS == CONVERT_TARGET_EXPONENT_BITS
  // Only the fractions differ, those of subnormal numbers too.
#if MASU_TARGET_FRACTION >= MASU_FRACTION
  return (CONVERT_TARGET)magnitude << (MASU_TARGET_FRACTION - MASU_FRACTION) | sign;
#else
  return sign | with_rest(magnitude >> (MASU_FRACTION - MASU_TARGET_FRACTION),
                          (ulong)magnitude << (64 - MASU_FRACTION + MASU_TARGET_FRACTION), negative);
#endif
#else
  if (magnitude == 0) return sign;
  // The magnitude is significand / 2^63 * 2^exponent; the first bit of the significand is set.
  ulong significand = magnitude;
  int exponent = 63;
#if MASU_ELEMENT_CLASS == 2
  significand &= CONVERT_SOURCE_MASK;
  exponent = (int)(magnitude >> MASU_FRACTION);
  if (exponent != 0) significand |= (ulong)1 << MASU_FRACTION;
  else exponent = 1;
  exponent += 63 - CONVERT_SOURCE_BIAS - MASU_FRACTION;
#endif
  const int zeros = (int)clz(significand);
  significand <<= zeros;
  exponent -= zeros;
  // How many bits go: more, where the result is subnormal.
  int gone = 63 - MASU_TARGET_FRACTION;
  ulong bits = 0;
  if (exponent < 1 - CONVERT_TARGET_BIAS) gone += 1 - CONVERT_TARGET_BIAS - exponent;
  else bits = (ulong)(exponent - (1 - CONVERT_TARGET_BIAS)) << MASU_TARGET_FRACTION;
  bits += gone < 64 ? significand >> gone : 0;
  // Where the rest is less than half of the last place, that is all that counts.
  return sign | with_rest(bits, gone == 64 ? significand : gone < 64 ? significand << (64 - gone) : 1, negative);
#endif
}
#endif

inline CONVERT_TARGET converted(const MASU_BITS source, uint *bad) {
#if MASU_ELEMENT_CLASS == 2
  const uint negative = (source & MASU_SIGN) != 0;
  const MASU_BITS magnitude = source & ~MASU_SIGN;
  if (magnitude >= CONVERT_SOURCE_END) {
    const CONVERT_TARGET infinite = CONVERT_TARGET_INFINITY | (negative ? CONVERT_TARGET_SIGN : 0);
#if !MASU_FINITE
    if (magnitude == MASU_INFINITY_BITS) return infinite;
#endif
    const ulong payload = magnitude & CONVERT_SOURCE_MASK;
#if MASU_FRACTION > MASU_TARGET_FRACTION
    const CONVERT_TARGET kept = (CONVERT_TARGET)(payload >> (MASU_FRACTION - MASU_TARGET_FRACTION));
#else
    const CONVERT_TARGET kept = (CONVERT_TARGET)(payload << (MASU_TARGET_FRACTION - MASU_FRACTION));
#endif
    return infinite | kept | (CONVERT_TARGET)1 << (MASU_TARGET_FRACTION - 1);
  }
#else
  const CONVERT_INTEGER value = CONVERT_INTEGER_OF(source);
#if MASU_ELEMENT_CLASS == 1
  const uint negative = value < 0;
  const MASU_BITS magnitude = negative ? 0 - (MASU_BITS)value : (MASU_BITS)value;
#else
  const uint negative = 0;
  const MASU_BITS magnitude = value;
#endif
#endif
#if MASU_LIMITED
  if (magnitude >= (negative ? MASU_LIMIT_DOWN : MASU_LIMIT_UP)) {
    *bad = 1;
    return negative ? MASU_OVERFLOW_DOWN : MASU_OVERFLOW_UP;
  }
#endif
  return rounded(source, negative, magnitude);
}

#elif MASU_ELEMENT_CLASS != 2

inline CONVERT_TARGET converted(const MASU_BITS source, uint *bad) {
  const CONVERT_INTEGER value = CONVERT_INTEGER_OF(source);
#if MASU_CHECK_LOW
  if (value < MASU_LOW) {
    *bad = 1;
    return (CONVERT_TARGET)MASU_LOW;
  }
#endif
#if MASU_CHECK_HIGH
  if (value > MASU_HIGH) {
    *bad = 1;
    return (CONVERT_TARGET)MASU_HIGH;
  }
#endif
  return (CONVERT_TARGET)value;
}

#else

#if MASU_WRAP || (CONVERT_SOURCE_BITS == 64 && !MASU_FP64)
// The whole part of a magnitude modulo 2^64; *beyond: it is 2^64 or more, or no number.
inline ulong whole_part(const MASU_BITS magnitude, uint *beyond) {
  const ulong significand = (magnitude & CONVERT_SOURCE_MASK) | (ulong)1 << MASU_FRACTION;
  const int shift = (int)(magnitude >> MASU_FRACTION) - CONVERT_SOURCE_BIAS - MASU_FRACTION;
  *beyond = magnitude >= CONVERT_SOURCE_END || shift + MASU_FRACTION >= 64;
  if (magnitude >= CONVERT_SOURCE_END) return 0;
  if (shift >= 0) return shift < 64 ? significand << shift : 0;
  return shift > -64 ? significand >> -shift : 0;
}
#endif

inline CONVERT_TARGET converted(const MASU_BITS source, uint *bad) {
#if MASU_WRAP
  uint beyond;
  const ulong whole = whole_part(source & ~MASU_SIGN, &beyond);
  return (CONVERT_TARGET)((source & MASU_SIGN) != 0 ? 0 - whole : whole);
#elif CONVERT_SOURCE_BITS == 64 && !MASU_FP64
  const MASU_BITS magnitude = source & ~MASU_SIGN;
  uint beyond;
  const ulong whole = whole_part(magnitude, &beyond);
  if (magnitude > MASU_INFINITY_BITS) {
    *bad = 1;
    return 0;
  }
  if ((source & MASU_SIGN) != 0) {
    if (!beyond && whole <= 0 - (ulong)MASU_LEAST) return (CONVERT_TARGET)(0 - whole);
    *bad = 1;
    return (CONVERT_TARGET)MASU_LEAST;
  }
  if (!beyond && whole <= (ulong)MASU_MOST) return (CONVERT_TARGET)whole;
  *bad = 1;
  return (CONVERT_TARGET)MASU_MOST;
#else
  const MASU_VALUE x = MASU_AS_VALUE(source);
#if MASU_LOW_FITS
  if (x >= MASU_LOW && x < MASU_HIGH) return (CONVERT_TARGET)(MASU_WHOLE)x;
#else
  if (x > MASU_LOW && x < MASU_HIGH) return (CONVERT_TARGET)(MASU_WHOLE)x;
#endif
  *bad = 1;
  return x >= MASU_HIGH ? (CONVERT_TARGET)MASU_MOST : x == x ? (CONVERT_TARGET)MASU_LEAST : 0;
#endif
}

#endif

#define CONVERT_TARGET_BYTES (MASU_TARGET_BITS / 8)
#define CONVERT_IN_BYTES (MASU_VECTOR * MASU_ELEMENT_BYTES)
#define CONVERT_OUT_BYTES (MASU_VECTOR * CONVERT_TARGET_BYTES)
#define CONVERT_IN_WORDS (CONVERT_IN_BYTES < 4 ? 1 : CONVERT_IN_BYTES / 4)
#define CONVERT_OUT_WORDS (CONVERT_OUT_BYTES < 4 ? 1 : CONVERT_OUT_BYTES / 4)

// Vectors of elements, as words of 32 bits.
inline void load(__global const uchar *p, uint *words) {
#if CONVERT_IN_BYTES == 16
  const uint4 v = *(__global const uint4 *)p;
  words[0] = v.x;
  words[1] = v.y;
  words[2] = v.z;
  words[3] = v.w;
#elif CONVERT_IN_BYTES == 8
  const ulong v = *(__global const ulong *)p;
  words[0] = (uint)v;
  words[1] = (uint)(v >> 32);
#elif CONVERT_IN_BYTES == 4
  words[0] = *(__global const uint *)p;
#elif CONVERT_IN_BYTES == 2
  words[0] = *(__global const ushort *)p;
#else
  words[0] = *p;
#endif
}

inline void store(const uint *words, __global uchar *p) {
#if CONVERT_OUT_BYTES == 16
  uint4 v;
  v.x = words[0];
  v.y = words[1];
  v.z = words[2];
  v.w = words[3];
  *(__global uint4 *)p = v;
#elif CONVERT_OUT_BYTES == 8
  *(__global ulong *)p = (ulong)words[1] << 32 | words[0];
#elif CONVERT_OUT_BYTES == 4
  *(__global uint *)p = words[0];
#elif CONVERT_OUT_BYTES == 2
  *(__global ushort *)p = (ushort)words[0];
#else
  *p = (uchar)words[0];
#endif
}

// Converts a vector; a bit is set for each element that does not fit, where that is wanted.
inline uint convert_vector(const uint *loaded, __global uchar *to) {
  uint made[CONVERT_OUT_WORDS] = {0};
  uint all_bad = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_VECTOR; ++k) {
    uint bad = 0;
    put_part_of(made, k, CONVERT_TARGET_BYTES, (CONVERT_TARGET_ELEMENT)converted(element_of(loaded, k), &bad));
    all_bad |= bad << k;
  }
  store(made, to);
  return MASU_ERROR ? all_bad : 0;
}

inline ulong first_bit(const uint bits) { return popcount((bits & (0 - bits)) - 1); }

// `head` elements one by one, then whole vectors, then the rest of `count` one by one. found: of each work-group, the
// first position of what does not fit, and the element there.
__kernel MASU_WORK_GROUP(MASU_GROUP) void convert_elements(__global const uchar *restrict in_memory, const ulong in_at,
                                                           __global uchar *restrict out_memory, const ulong out_at,
                                                           const ulong count, const ulong head, const ulong vectors,
                                                           __global uchar *restrict found_memory, const ulong found_at,
                                                           __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);  // 2
  __global const uchar *in = in_memory + in_at;
  __global uchar *out = out_memory + out_at;
  const size_t stride = get_global_size(0);
  ulong first_bad = MASU_NO_POSITION;

  const ulong singles = count - vectors * MASU_VECTOR;
  for (size_t n = get_global_id(0); n < singles; n += stride) {
    const ulong i = n < head ? n : n + vectors * MASU_VECTOR;
    uint bad = 0;
    const MASU_BITS source = element_at(in, i);
    ((__global CONVERT_TARGET_ELEMENT *)out)[i] = (CONVERT_TARGET_ELEMENT)converted(source, &bad);
    if (bad && i < first_bad) first_bad = i;
  }

  __global const uchar *from = in + head * MASU_ELEMENT_BYTES;
  __global uchar *to = out + head * CONVERT_TARGET_BYTES;
  size_t i = get_global_id(0);
  for (; i + (MASU_UNROLL - 1) * stride < vectors; i += MASU_UNROLL * stride) {
    uint loaded[MASU_UNROLL][CONVERT_IN_WORDS];
    MASU_PRAGMA_UNROLL
    for (uint u = 0; u < MASU_UNROLL; ++u) load(from + (i + u * stride) * CONVERT_IN_BYTES, loaded[u]);
    MASU_PRAGMA_UNROLL
    for (uint u = 0; u < MASU_UNROLL; ++u) {
      const uint bad = convert_vector(loaded[u], to + (i + u * stride) * CONVERT_OUT_BYTES);
      if (bad != 0) first_bad = min(first_bad, head + (i + u * stride) * MASU_VECTOR + first_bit(bad));
    }
  }
  for (; i < vectors; i += stride) {
    uint loaded[CONVERT_IN_WORDS];
    load(from + i * CONVERT_IN_BYTES, loaded);
    const uint bad = convert_vector(loaded, to + i * CONVERT_OUT_BYTES);
    if (bad != 0) first_bad = min(first_bad, head + i * MASU_VECTOR + first_bit(bad));
  }

#if MASU_ERROR
  const ulong first = first_of_group(first_bad, words);
  if (get_local_id(0) == 0) {
    __global ulong *found = (__global ulong *)(found_memory + found_at) + 2 * get_group_id(0);
    found[0] = first;
    found[1] = first == MASU_NO_POSITION ? 0 : ((__global const MASU_ELEMENT *)in)[first];
  }
#endif
}

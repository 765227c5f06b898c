// SPDX-License-Identifier: Apache-2.0
// Elements of one dtype as another, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After
// elements.cl, whose element is the source's, and first_position.cl.
//
// Whatever makes a float is done on bits, so it is right on devices that flush subnormals and on those without fp64; on
// NVIDIA's, whose instructions round as is asked for, NaNs and what overflows are done on bits, the rest by instructions.
//
// Defines, all given by convert_plan.cpp:
// - MASU_GROUP        work-items in a work-group
// - MASU_VECTOR       elements that a work-item loads and stores at a time
// - MASU_UNROLL       loads in flight for each work-item
// - MASU_ERROR        1: the first that does not fit is noted
// - MASU_WRAP         1: integers modulo 2^bits
// - MASU_NEGATE       1: floats of one dtype get the other sign, and nothing else
// - MASU_TRUTH        1: bytes become 0 and 1
// - MASU_FP64         1: the device has double
// - MASU_TARGET_BITS  8, 16, 32 or 64
// - MASU_TARGET_KIND  0: unsigned, 1: signed integers, 2: floats
// Between integers: MASU_CHECK_LOW, MASU_CHECK_HIGH: 1 where values can be below MASU_LOW, above MASU_HIGH, which are of
// the source's type, widened to 32 bits.
// From floats to integers: what fits is above MASU_LOW (or equal, with MASU_LOW_FITS) and below MASU_HIGH, which are of
// type MASU_VALUE, made of bits by MASU_AS_VALUE; MASU_LEAST and MASU_MOST are the target's ends, MASU_WHOLE its type, of 32 bits at least.
// To floats: MASU_TARGET_FRACTION: stored bits of the fraction.
// To floats: MASU_LIMITED: 1 where values can overflow: magnitudes (bits, of floats) from MASU_LIMIT_UP on, of negative
// values from MASU_LIMIT_DOWN on, become MASU_OVERFLOW_UP and MASU_OVERFLOW_DOWN. MASU_ROUNDING: 0 to nearest even,
// 1 towards zero, 2 up, 3 down. MASU_INSTRUCTION: PTX's, from MASU_INSTRUCTION_IN to MASU_INSTRUCTION_OUT.

#define MASU_SOURCE_BITS (8 * MASU_ELEMENT_BYTES)
#if MASU_TARGET_BITS == 64
#define MASU_TARGET ulong
#else
#define MASU_TARGET uint
#endif

#if MASU_TARGET_BITS == 8
#define MASU_TARGET_ELEMENT uchar
#elif MASU_TARGET_BITS == 16
#define MASU_TARGET_ELEMENT ushort
#else
#define MASU_TARGET_ELEMENT MASU_TARGET
#endif

#if MASU_ELEMENT_CLASS == 1
#if MASU_SOURCE_BITS == 64
#define MASU_INTEGER long
#define MASU_INTEGER_OF(bits) ((long)(bits))
#else
#define MASU_INTEGER int
#define MASU_INTEGER_OF(bits) ((int)((bits) << (32 - MASU_SOURCE_BITS)) >> (32 - MASU_SOURCE_BITS))
#endif
#elif MASU_ELEMENT_CLASS == 0
#define MASU_INTEGER MASU_BITS
#define MASU_INTEGER_OF(bits) (bits)
#endif

#if MASU_ELEMENT_CLASS == 2
#define MASU_SOURCE_BIAS ((1 << (MASU_SOURCE_BITS - 2 - MASU_FRACTION)) - 1)
#define MASU_SOURCE_MASK (((MASU_BITS)1 << MASU_FRACTION) - 1)
#endif

#if MASU_NEGATE

inline MASU_TARGET converted(const MASU_BITS source, uint *bad) { return source ^ MASU_SIGN; }

#elif MASU_TRUTH

inline MASU_TARGET converted(const MASU_BITS source, uint *bad) { return source != 0; }

#elif MASU_TARGET_KIND == 2

#define MASU_TARGET_SIGN ((MASU_TARGET)1 << (MASU_TARGET_BITS - 1))
#define MASU_TARGET_EXPONENTS ((1 << (MASU_TARGET_BITS - 1 - MASU_TARGET_FRACTION)) - 1)
#define MASU_TARGET_BIAS (MASU_TARGET_EXPONENTS >> 1)
#define MASU_TARGET_INFINITY ((MASU_TARGET)MASU_TARGET_EXPONENTS << MASU_TARGET_FRACTION)

#if defined(MASU_CUDA) || defined(__NV_CL_C_VERSION)
#define MASU_NATIVE 1
#else
#define MASU_NATIVE 0
#endif

#if MASU_NATIVE
#if MASU_TARGET_BITS == 16
#define MASU_RESULT ushort
#define MASU_BITS_OF(x) (x)
#elif MASU_TARGET_BITS == 32
#define MASU_RESULT float
#define MASU_BITS_OF(x) as_uint(x)
#else
#define MASU_RESULT double
#define MASU_BITS_OF(x) as_ulong(x)
#endif
#if MASU_ELEMENT_CLASS != 2
#define MASU_OPERAND MASU_INTEGER
#define MASU_OPERAND_OF(bits) MASU_INTEGER_OF(bits)
#elif MASU_SOURCE_BITS == 16
#define MASU_OPERAND ushort
#define MASU_OPERAND_OF(bits) ((ushort)(bits))
#elif MASU_SOURCE_BITS == 32
#define MASU_OPERAND float
#define MASU_OPERAND_OF(bits) as_float(bits)
#else
#define MASU_OPERAND double
#define MASU_OPERAND_OF(bits) as_double(bits)
#endif

// A value that is neither NaN nor overflows.
inline MASU_TARGET rounded(const MASU_BITS source, const uint negative, const MASU_BITS magnitude) {
  const MASU_OPERAND x = MASU_OPERAND_OF(source);
  MASU_RESULT y;
  asm(MASU_INSTRUCTION " %0, %1;" : MASU_INSTRUCTION_OUT(y) : MASU_INSTRUCTION_IN(x));
  return MASU_BITS_OF(y);
}
#else
inline MASU_TARGET rounded(const MASU_BITS source, const uint negative, const MASU_BITS magnitude) {
  const MASU_TARGET sign = negative ? MASU_TARGET_SIGN : 0;
  if (magnitude == 0) return sign;
  // The magnitude is significand / 2^63 * 2^exponent; the first bit of the significand is set.
  ulong significand = magnitude;
  int exponent = 63;
#if MASU_ELEMENT_CLASS == 2
  significand &= MASU_SOURCE_MASK;
  exponent = (int)(magnitude >> MASU_FRACTION);
  if (exponent != 0) significand |= (ulong)1 << MASU_FRACTION;
  else exponent = 1;
  exponent += 63 - MASU_SOURCE_BIAS - MASU_FRACTION;
#endif
  const int zeros = (int)clz(significand);
  significand <<= zeros;
  exponent -= zeros;
  // How many bits go: more, where the result is subnormal.
  int gone = 63 - MASU_TARGET_FRACTION;
  ulong bits = 0;
  if (exponent < 1 - MASU_TARGET_BIAS) gone += 1 - MASU_TARGET_BIAS - exponent;
  else bits = (ulong)(exponent - (1 - MASU_TARGET_BIAS)) << MASU_TARGET_FRACTION;
  bits += gone < 64 ? significand >> gone : 0;
  // The rest, as a part of 2^64; where it is less than half of the last place, that is all that counts.
  const ulong rest = gone == 64 ? significand : gone < 64 ? significand << (64 - gone) : 1;
  const ulong half_place = (ulong)1 << 63;
#if MASU_ROUNDING == 0
  bits += rest > half_place || (rest == half_place && (bits & 1) != 0);
#elif MASU_ROUNDING == 2
  bits += !negative && rest != 0;
#elif MASU_ROUNDING == 3
  bits += negative && rest != 0;
#endif
  return (MASU_TARGET)bits | sign;
}
#endif

inline MASU_TARGET converted(const MASU_BITS source, uint *bad) {
#if MASU_ELEMENT_CLASS == 2
  const uint negative = (source & MASU_SIGN) != 0;
  const MASU_BITS magnitude = source & ~MASU_SIGN;
  if (magnitude >= MASU_INFINITY_BITS) {
    const MASU_TARGET infinite = MASU_TARGET_INFINITY | (negative ? MASU_TARGET_SIGN : 0);
    if (magnitude == MASU_INFINITY_BITS) return infinite;
    const ulong payload = magnitude & MASU_SOURCE_MASK;
#if MASU_FRACTION > MASU_TARGET_FRACTION
    const MASU_TARGET kept = (MASU_TARGET)(payload >> (MASU_FRACTION - MASU_TARGET_FRACTION));
#else
    const MASU_TARGET kept = (MASU_TARGET)(payload << (MASU_TARGET_FRACTION - MASU_FRACTION));
#endif
    return infinite | kept | (MASU_TARGET)1 << (MASU_TARGET_FRACTION - 1);
  }
#else
  const MASU_INTEGER value = MASU_INTEGER_OF(source);
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

inline MASU_TARGET converted(const MASU_BITS source, uint *bad) {
  const MASU_INTEGER value = MASU_INTEGER_OF(source);
#if MASU_CHECK_LOW
  if (value < MASU_LOW) {
    *bad = 1;
    return (MASU_TARGET)MASU_LOW;
  }
#endif
#if MASU_CHECK_HIGH
  if (value > MASU_HIGH) {
    *bad = 1;
    return (MASU_TARGET)MASU_HIGH;
  }
#endif
  return (MASU_TARGET)value;
}

#else

#if MASU_WRAP || (MASU_SOURCE_BITS == 64 && !MASU_FP64)
// The whole part of a magnitude modulo 2^64; *beyond: it is 2^64 or more, or no number.
inline ulong whole_part(const MASU_BITS magnitude, uint *beyond) {
  const ulong significand = (magnitude & MASU_SOURCE_MASK) | (ulong)1 << MASU_FRACTION;
  const int shift = (int)(magnitude >> MASU_FRACTION) - MASU_SOURCE_BIAS - MASU_FRACTION;
  *beyond = magnitude >= MASU_INFINITY_BITS || shift + MASU_FRACTION >= 64;
  if (magnitude >= MASU_INFINITY_BITS) return 0;
  if (shift >= 0) return shift < 64 ? significand << shift : 0;
  return shift > -64 ? significand >> -shift : 0;
}
#endif

inline MASU_TARGET converted(const MASU_BITS source, uint *bad) {
#if MASU_WRAP
  uint beyond;
  const ulong whole = whole_part(source & ~MASU_SIGN, &beyond);
  return (MASU_TARGET)((source & MASU_SIGN) != 0 ? 0 - whole : whole);
#elif MASU_SOURCE_BITS == 64 && !MASU_FP64
  const MASU_BITS magnitude = source & ~MASU_SIGN;
  uint beyond;
  const ulong whole = whole_part(magnitude, &beyond);
  if (magnitude > MASU_INFINITY_BITS) {
    *bad = 1;
    return 0;
  }
  if ((source & MASU_SIGN) != 0) {
    if (!beyond && whole <= 0 - (ulong)MASU_LEAST) return (MASU_TARGET)(0 - whole);
    *bad = 1;
    return (MASU_TARGET)MASU_LEAST;
  }
  if (!beyond && whole <= (ulong)MASU_MOST) return (MASU_TARGET)whole;
  *bad = 1;
  return (MASU_TARGET)MASU_MOST;
#else
  const MASU_VALUE x = MASU_AS_VALUE(source);
#if MASU_LOW_FITS
  if (x >= MASU_LOW && x < MASU_HIGH) return (MASU_TARGET)(MASU_WHOLE)x;
#else
  if (x > MASU_LOW && x < MASU_HIGH) return (MASU_TARGET)(MASU_WHOLE)x;
#endif
  *bad = 1;
  return x >= MASU_HIGH ? (MASU_TARGET)MASU_MOST : x == x ? (MASU_TARGET)MASU_LEAST : 0;
#endif
}

#endif

#define MASU_TARGET_BYTES (MASU_TARGET_BITS / 8)
#define MASU_IN_BYTES (MASU_VECTOR * MASU_ELEMENT_BYTES)
#define MASU_OUT_BYTES (MASU_VECTOR * MASU_TARGET_BYTES)
#define MASU_IN_WORDS (MASU_IN_BYTES < 4 ? 1 : MASU_IN_BYTES / 4)
#define MASU_OUT_WORDS (MASU_OUT_BYTES < 4 ? 1 : MASU_OUT_BYTES / 4)

// Vectors of elements, as words of 32 bits.
inline void load(__global const uchar *p, uint *words) {
#if MASU_IN_BYTES == 16
  const uint4 v = *(__global const uint4 *)p;
  words[0] = v.x;
  words[1] = v.y;
  words[2] = v.z;
  words[3] = v.w;
#elif MASU_IN_BYTES == 8
  const ulong v = *(__global const ulong *)p;
  words[0] = (uint)v;
  words[1] = (uint)(v >> 32);
#elif MASU_IN_BYTES == 4
  words[0] = *(__global const uint *)p;
#elif MASU_IN_BYTES == 2
  words[0] = *(__global const ushort *)p;
#else
  words[0] = *p;
#endif
}

inline void store(const uint *words, __global uchar *p) {
#if MASU_OUT_BYTES == 16
  uint4 v;
  v.x = words[0];
  v.y = words[1];
  v.z = words[2];
  v.w = words[3];
  *(__global uint4 *)p = v;
#elif MASU_OUT_BYTES == 8
  *(__global ulong *)p = (ulong)words[1] << 32 | words[0];
#elif MASU_OUT_BYTES == 4
  *(__global uint *)p = words[0];
#elif MASU_OUT_BYTES == 2
  *(__global ushort *)p = (ushort)words[0];
#else
  *p = (uchar)words[0];
#endif
}

// Converts a vector; a bit is set for each element that does not fit, where that is wanted.
inline uint convert_vector(const uint *loaded, __global uchar *to) {
  uint made[MASU_OUT_WORDS] = {0};
  uint all_bad = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_VECTOR; ++k) {
    uint bad = 0;
    put_part_of(made, k, MASU_TARGET_BYTES, (MASU_TARGET_ELEMENT)converted(element_of(loaded, k), &bad));
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
    ((__global MASU_TARGET_ELEMENT *)out)[i] = (MASU_TARGET_ELEMENT)converted(source, &bad);
    if (bad && i < first_bad) first_bad = i;
  }

  __global const uchar *from = in + head * MASU_ELEMENT_BYTES;
  __global uchar *to = out + head * MASU_TARGET_BYTES;
  size_t i = get_global_id(0);
  for (; i + (MASU_UNROLL - 1) * stride < vectors; i += MASU_UNROLL * stride) {
    uint loaded[MASU_UNROLL][MASU_IN_WORDS];
    MASU_PRAGMA_UNROLL
    for (uint u = 0; u < MASU_UNROLL; ++u) load(from + (i + u * stride) * MASU_IN_BYTES, loaded[u]);
    MASU_PRAGMA_UNROLL
    for (uint u = 0; u < MASU_UNROLL; ++u) {
      const uint bad = convert_vector(loaded[u], to + (i + u * stride) * MASU_OUT_BYTES);
      if (bad != 0) first_bad = min(first_bad, head + (i + u * stride) * MASU_VECTOR + first_bit(bad));
    }
  }
  for (; i < vectors; i += stride) {
    uint loaded[MASU_IN_WORDS];
    load(from + i * MASU_IN_BYTES, loaded);
    const uint bad = convert_vector(loaded, to + i * MASU_OUT_BYTES);
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

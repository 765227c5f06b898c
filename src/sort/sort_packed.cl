// SPDX-License-Identifier: Apache-2.0
// Keys of 4 bytes, each packed above its index into one of 8, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++):
// all differ, so that a sort that is not stable puts them in the stable order. sort_key.cl, for u64, stands in front of
// this file, which stands in front of sort_buckets.cl and sort_finish.cl.
//
// Defines, all given by sort_buckets.cpp:
#ifndef MASU_PACKED           // 1: keys are packed; 0: they are not, and the others are 0
#error "MASU_PACKED is not defined"
#endif
#ifndef MASU_SOURCE_CLASS     // of the keys that are packed: as MASU_KEY_CLASS
#error "MASU_SOURCE_CLASS is not defined"
#endif
#ifndef MASU_INDEX_BYTES      // 4 or 8 where indices are wanted; 0: keys, and values that move with them
#error "MASU_INDEX_BYTES is not defined"
#endif
#if MASU_PACKED
#define MASU_DIGIT_FLIP 0  // they are turned round when they are packed
#define MASU_SOURCE_SIGN 0x80000000U
#define MASU_SOURCE_INFINITE 0x7f800000U

#if MASU_INDEX_BYTES == 8
#define MASU_INDEX ulong
#else
#define MASU_INDEX uint
#endif

// The order is that of ordered_key() in sort_key.cl. `flip` is not 0 where greater keys come first.
inline ulong packed_key(const uint bits, const size_t index, const uint flip) {
#if MASU_SOURCE_CLASS == 0
  const uint key = bits;
#elif MASU_SOURCE_CLASS == 1
  const uint key = bits ^ MASU_SOURCE_SIGN;
#else
  const uint magnitude = bits & (MASU_SOURCE_SIGN - 1);
  const uint number = (bits & MASU_SOURCE_SIGN) != 0 ? MASU_SOURCE_SIGN - magnitude : MASU_SOURCE_SIGN + magnitude;
  const uint key = magnitude > MASU_SOURCE_INFINITE ? 0xffffffffU : number;
#endif
  return (ulong)(flip != 0 ? ~key : key) << 32 | index;
}

// The bits of a key that was packed. What several bits are packed to, NaNs and zeros, is looked up where it came from.
inline uint unpacked_key(const ulong packed, const uint flip, __global const uint *source) {
  const uint key = flip != 0 ? ~(uint)(packed >> 32) : (uint)(packed >> 32);
#if MASU_SOURCE_CLASS == 0
  (void)source;
  return key;
#elif MASU_SOURCE_CLASS == 1
  (void)source;
  return key ^ MASU_SOURCE_SIGN;
#else
  if (key == MASU_SOURCE_SIGN || key == 0xffffffffU) return source[(uint)packed];
  return key > MASU_SOURCE_SIGN ? key - MASU_SOURCE_SIGN : MASU_SOURCE_SIGN | (MASU_SOURCE_SIGN - key);
#endif
}

#else
#define MASU_DIGIT_FLIP flip
#endif
